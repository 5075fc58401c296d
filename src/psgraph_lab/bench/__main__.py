"""Run one step of a benchmark in a process of its own and print JSON.

``python -m psgraph_lab.bench prepare CASE DIR`` writes a made-up stream to DIR/input;
``python -m psgraph_lab.bench time CASE DIR [FILE]`` times publishing it, or FILE; with
``--method NAME`` it times that method, without the floor.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from psgraph_lab.bench.cases import find_case


def main() -> None:
    """Run the step given on the command line."""
    parser = argparse.ArgumentParser(prog="python -m psgraph_lab.bench")
    parser.add_argument("step", choices=["prepare", "time"])
    parser.add_argument("case")
    parser.add_argument("directory", type=Path)
    parser.add_argument("file", type=Path, nargs="?")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--method")
    asked = parser.parse_args()
    case = find_case(asked.case, quick=asked.quick)
    made_up = asked.directory / "input"
    if asked.step == "prepare":
        from psgraph_lab.bench.synthetic import write_stream

        made_up.mkdir()
        write_stream(made_up, nodes=case.nodes, edges=case.edges, timestamps=case.timestamps)
        return
    from psgraph_lab.bench.timing import time_case, time_method

    source = asked.file or made_up
    if asked.method is None:
        found = time_case(case, source, asked.directory)
    else:
        found = time_method(asked.method, case, source, asked.directory)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
