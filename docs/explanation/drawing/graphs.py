"""The graph of twelve nodes as a panel of a picture."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from drawing.svg import COMMUNITIES, Picture
from drawing.twelve import Pair

__all__ = ["PANEL", "draw_graph"]

PANEL = 178  # width of a panel; its height is that of the positions below

#: Three groups of four; the same positions in every picture.
POSITIONS = (
    *((0.10, 0.30), (0.22, 0.06), (0.38, 0.30), (0.30, 0.56)),
    *((0.66, 0.62), (0.94, 0.62), (0.78, 0.36), (0.86, 0.94)),
    *((0.50, 0.94), (0.30, 1.06), (0.12, 0.94), (0.10, 0.66)),
)
HEIGHT = 150.0


def draw_graph(
    picture: Picture,
    x: float,
    y: float,
    edges: Collection[Pair],
    *,
    labels: Sequence[int] | None = None,
    new: Collection[Pair] = (),
    gone: Collection[Pair] = (),
    width: float = PANEL,
) -> None:
    """Draw nodes 1 to 12 and edges; `new` edges stand out, `gone` ones are dotted."""
    places = [(x + width * a, y + 12 + HEIGHT * b) for a, b in POSITIONS]
    for pairs, kind in ((gone, "gone"), (edges, "edge"), (new, "new")):
        for u, v in sorted(pairs):
            picture.line(*places[u], *places[v], kind)
    for node, place in enumerate(places):
        colour, words = ("#5b6570", "#ffffff") if labels is None else COMMUNITIES[labels[node]]
        picture.circle(*place, 10.5, fill=colour)
        picture.text(place[0], place[1] + 4, str(node + 1), "tiny", anchor="middle", fill=words)
