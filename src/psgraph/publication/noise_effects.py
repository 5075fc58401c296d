"""What noise of a given scale means for a graph of a given size.

Two answers, each from the rows of a method's plan that say what they count:

* the smallest degree that stands out: noise lifts no node of average degree as high, with a
  probability of 95 %;
* the error of the edge count.

Both follow from the scale of the noise alone, before any averaging over time, which can only
improve them. How good the releases will be is for a rehearsal to show (`psgraph.trust.rehearsal`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import hypot, log, sqrt
from typing import Any

from psgraph.methods.base import NoisePlan
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.query import Counted

__all__ = ["Effects", "Range", "effects_of", "nearby"]

#: The best and the worst case of a plan; None if no case has it.
Range = tuple[float, float] | None

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Effects:
    """What a guarantee means for a graph.

    Attributes
    ----------
    guarantee
        The guarantee it is about.
    mean_degree
        The mean degree of the graph.
    degree
        The smallest degree that stands out.
    edge_error
        The mean error of one measurement of the edge count, as a share of it.
    """

    guarantee: WEventPrivacy
    mean_degree: float
    degree: Range
    edge_error: Range

    def to_dict(self) -> dict[str, Any]:
        return {
            **self.guarantee.to_dict(),
            "smallest_degree": _listed(self.degree),
            "edge_count_error": _listed(self.edge_error),
        }


def effects_of(
    rows: Sequence[NoisePlan], guarantee: WEventPrivacy, *, nodes: int, edges: int
) -> Effects:
    """Return what the rows of a plan mean for a graph of this size.

    >>> guarantee = WEventPrivacy("1", window=1)
    >>> row = NoisePlan("always", "degrees", guarantee.epsilon, 2, counts="degree")
    >>> found = effects_of([row], guarantee, nodes=1000, edges=5000)
    >>> [round(degree) for degree in found.degree]
    [28, 28]
    """
    mean_degree = 2 * edges / nodes if nodes else 0.0
    # Laplace noise of scale b exceeds x with probability e^(−x/b)/2; of n values none, with 95 %.
    reach = log(max(nodes, 1) / (2 * (1 - CONFIDENCE)))
    return Effects(
        guarantee,
        mean_degree,
        degree=_range(mean_degree + reach * scale for scale in _scales(rows, "degree")),
        edge_error=_range(scale / edges for scale in _scales(rows, "edges")) if edges else None,
    )


def nearby(guarantee: WEventPrivacy) -> list[WEventPrivacy]:
    """Return a guarantee with half and twice its ε, and with half and twice its window.

    >>> [(float(each.epsilon), each.window) for each in nearby(WEventPrivacy("1", window=5))]
    [(0.5, 5), (2.0, 5), (1.0, 3), (1.0, 10)]
    """
    epsilon, window = guarantee.epsilon, guarantee.window
    made = [replace(guarantee, epsilon=each) for each in (epsilon / 2, epsilon * 2)]
    if window > 1:
        made.append(replace(guarantee, window=(window + 1) // 2))
    return [*made, replace(guarantee, window=2 * window)]


def _scales(rows: Sequence[NoisePlan], counted: Counted) -> Iterable[float]:
    """Yield for each case that counts something the noise scale with the variance of all terms.

    Laplace noise of that scale has heavier tails than the sum, so the result errs on the safe side.
    """
    for case in dict.fromkeys(row.case for row in rows if row.counts == counted):
        terms = [row for row in rows if row.counts == counted and row.case == case]
        yield hypot(*(row.scale * sqrt(row.terms) for row in terms if row.scale is not None))


def _range(values: Iterable[float]) -> Range:
    found = list(values)
    return (min(found), max(found)) if found else None


def _listed(values: Range) -> list[float] | None:
    return None if values is None else list(values)
