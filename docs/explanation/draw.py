"""Draw the pictures of the explanations: ``python docs/explanation/draw.py [DIRECTORY]``.

Deterministic: the same code gives the same files, and a test compares them with those committed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).parent
if str(HERE) not in sys.path:
    sys.path.insert(0, str(HERE))

from drawing import plus_pictures, promise_pictures, psgraph_pictures  # noqa: E402

PICTURES: dict[str, Callable[[], str]] = {
    "promise-two-worlds": promise_pictures.two_worlds,
    "promise-window": promise_pictures.window,
    "promise-lifetime": promise_pictures.lifetime,
    "measure-seal-synthesise": promise_pictures.measure_seal_synthesise,
    "psgraph-1-snapshot": psgraph_pictures.snapshot,
    "psgraph-2-communities": psgraph_pictures.communities,
    "psgraph-3-degrees": psgraph_pictures.degrees,
    "psgraph-4-reconstruction": psgraph_pictures.reconstruction,
    "psgraph-5-repair": psgraph_pictures.repair,
    "psgraph-6-next": psgraph_pictures.next_timestamp,
    "plus-1-schedule": plus_pictures.schedule,
    "plus-2-filter": plus_pictures.filtering,
    "plus-3-targets": plus_pictures.targets,
    "plus-4-realisation": plus_pictures.realisation,
}


def main(directory: Path = HERE / "pictures") -> None:
    """Write every picture."""
    directory.mkdir(exist_ok=True)
    for name, draw in PICTURES.items():
        (directory / f"{name}.svg").write_text(draw(), encoding="utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
