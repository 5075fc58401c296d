"""Run one step of a benchmark in a process of its own and print JSON.

``python -m psgraph_lab.bench prepare CASE DIR`` writes a synthetic stream to DIR/input;
``python -m psgraph_lab.bench time CASE DIR [FILE]`` times publishing it, or FILE, with PSGraph or
with ``--method NAME``. ``large CASE DIR STORE`` times publishing a store, ``aggregates LIBRARY DIR
STORE`` three aggregates of it.
"""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

from psgraph_lab.bench.cases import find_case

_MOST_SECONDS = 15.0  # of passes of a method other than PSGraph before the last begins


def main() -> None:
    """Run the step given on the command line."""
    parser = argparse.ArgumentParser(prog="python -m psgraph_lab.bench")
    parser.add_argument("step", choices=["prepare", "time", "large", "aggregates"])
    parser.add_argument("case")
    parser.add_argument("directory", type=Path)
    parser.add_argument("file", type=Path, nargs="?")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--method", default="psgraph")
    parser.add_argument("--engine", default="local")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--repeats", type=int)
    found = _run(parser.parse_args())
    if found is not None:
        print(json.dumps(found))


def _run(asked: argparse.Namespace) -> dict[str, Any] | None:
    if asked.step == "aggregates":
        from psgraph_lab.bench.aggregates import time_aggregates

        return time_aggregates(asked.case, asked.file)
    case = find_case(asked.case, quick=asked.quick)
    case = case if asked.repeats is None else replace(case, repeats=asked.repeats)
    if asked.step == "large":
        from psgraph_lab.bench.timing import time_store

        return time_store(
            case,
            asked.file,
            asked.directory,
            method=asked.method,
            engine=asked.engine,
            workers=asked.workers,
        )
    made_up = asked.directory / "input"
    if asked.step == "prepare":
        from psgraph_lab.bench.synthetic import write_stream

        made_up.mkdir()
        write_stream(made_up, nodes=case.nodes, edges=case.edges, timestamps=case.timestamps)
        return None
    from psgraph_lab.bench.timing import time_case

    most = _MOST_SECONDS if asked.method != "psgraph" else math.inf
    return time_case(
        case, asked.file or made_up, asked.directory, method=asked.method, most_seconds=most
    )


if __name__ == "__main__":
    main()
