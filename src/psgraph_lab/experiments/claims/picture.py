"""All verdicts in one figure: a row per section, a square per statement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from psgraph.pictures.style import INK, QUIET, WHITE
from psgraph_lab.experiments.claims.statements import Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["LOOKS", "compose_verdicts"]

#: Colour and sign, distinguishable in print and with every kind of colour vision.
LOOKS = {
    "holds": ("#009e73", "✓"),
    "does not hold": ("#d55e00", "✗"),
    "not testable here": ("#c3c9d0", "–"),
}
_ROW, _SQUARE = 0.34, 0.84


def compose_verdicts(verdicts: Sequence[Verdict]) -> Figure:
    """Compose the figure without writing it."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    sections = list(dict.fromkeys(verdict.statement.section for verdict in verdicts))
    rows = [[each for each in verdicts if each.statement.section == name] for name in sections]
    longest = max((len(row) for row in rows), default=1)
    figure = Figure(
        figsize=(2.9 + _ROW * longest, 0.8 + _ROW * len(rows)),
        dpi=130,
        facecolor=WHITE,
        layout="constrained",
    )
    axes = figure.subplots()
    for index, row in enumerate(rows):
        for column, verdict in enumerate(row):
            colour, sign = LOOKS[verdict.verdict]
            axes.add_patch(
                Rectangle((column, index), _SQUARE, _SQUARE, facecolor=colour, edgecolor="none")
            )
            ink = INK if verdict.verdict == "not testable here" else WHITE
            middle = (column + _SQUARE / 2, index + _SQUARE / 2)
            axes.annotate(sign, middle, ha="center", va="center", color=ink, fontsize=10)
    axes.set(xlim=(-0.2, longest + 0.2), ylim=(len(rows) + 0.05, -0.15), aspect="equal", xticks=[])
    axes.set_yticks([index + _SQUARE / 2 for index in range(len(rows))], sections)
    axes.tick_params(axis="y", length=0, labelsize=10, labelcolor=INK)
    for side in axes.spines.values():
        side.set_visible(False)
    handles = [Rectangle((0, 0), 1, 1, facecolor=colour) for colour, _ in LOOKS.values()]
    labels = [
        f"{sign} {word} ({sum(verdict.verdict == word for verdict in verdicts)})"
        for word, (_, sign) in LOOKS.items()
    ]
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=3,
        frameon=False,
        fontsize=10,
        labelcolor=QUIET,
    )
    return figure
