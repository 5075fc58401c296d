"""Leads a run that never ends; for the test that kills it."""

from __future__ import annotations

import sys
from pathlib import Path

from psgraph_lab.experiments.cells import Cell
from psgraph_lab.experiments.runner import run_missing
from psgraph_lab.experiments.store import Results


def main() -> None:
    cells = [Cell("demo", "psgraph", "1", 5, repetition) for repetition in range(100_000)]
    with Results.writing(Path(sys.argv[1])) as results:
        run_missing(cells, results, workers=2)


if __name__ == "__main__":
    main()
