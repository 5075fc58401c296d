"""Steps of ``psgraph bench`` in processes of their own."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from typing import Any

from psgraph.errors import PsgraphError

__all__ = ["machine", "run_step"]


def run_step(*arguments: str) -> dict[str, Any]:
    """Run ``python -m psgraph_lab.bench`` and return what it prints, if it prints anything."""
    run = subprocess.run(
        [sys.executable, "-m", "psgraph_lab.bench", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        reason = run.stderr.strip().splitlines()[-1:] or [f"exit code {run.returncode}"]
        raise PsgraphError(f"timing {arguments[1]} failed: {reason[0]}")
    found: dict[str, Any] = json.loads(run.stdout or "{}")
    return found


def machine(load: float) -> dict[str, Any]:
    """Describe this machine; `load` is how busy it was before the benchmark started."""
    return {
        "cores": os.cpu_count(),
        "load_before": load,
        "python": platform.python_version(),
        "system": platform.system(),
        "processor": platform.machine(),
    }
