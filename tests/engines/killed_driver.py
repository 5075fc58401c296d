"""Runs a command of psgraph that kills itself, with SIGKILL, when a certain task is submitted.

    python killed_driver.py TASK PROCESSES COMMAND…

TASK is the name of a function in `psgraph.engines.dask.tasks`, or ``none``. The processes that the
command has started until then are listed in the file PROCESSES.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]

from psgraph.cli import run
from psgraph.engines.dask import DaskEngine


def kill_at(task: str, processes: Path) -> None:
    """Have this process kill itself when the task is submitted."""
    submit = DaskEngine._submit

    def submit_or_die(runner: DaskEngine, function: Any, *inputs: Any) -> Any:
        if function.__name__ == task:
            children = psutil.Process().children(recursive=True)
            processes.write_text(" ".join(str(child.pid) for child in children))
            os.kill(os.getpid(), signal.SIGKILL)
        return submit(runner, function, *inputs)

    DaskEngine._submit = submit_or_die  # type: ignore[assignment, method-assign]


if __name__ == "__main__":
    kill_at(sys.argv[1], Path(sys.argv[2]))
    sys.exit(run(sys.argv[3:]))
