"""How noisy a publication would be, before anything is spent or any data is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from psgraph.errors import InvalidArgument, exact_decimal
from psgraph.methods import DEFAULT_METHOD
from psgraph.methods.base import Caveat, Method, NoisePlan
from psgraph.methods.choosing import MethodLike, choose_method
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.publication.checking import check_guarantee
from psgraph.publication.promise import Promise

__all__ = ["Plan", "plan"]


@dataclass(frozen=True)
class Plan:
    """What each timestamp would measure, and with how much noise.

    Attributes
    ----------
    rows
        The measurements, by case.
    remarks
        Sentences of the method that help to read them.
    caveat
        How the privacy the method provides differs from the guarantee; None if it does not.
    even
        Whether every timestamp is charged ε/w. Otherwise the method requests more for some
        timestamps than for others, within every window.
    """

    guarantee: WEventPrivacy
    nodes: int
    method: str
    rows: tuple[NoisePlan, ...]
    remarks: tuple[str, ...] = ()
    caveat: Caveat | None = None
    even: bool = True

    @property
    def promise(self) -> Promise:
        """What releases would promise, which may be less than the guarantee."""
        return Promise(self.guarantee, self.caveat)

    def _repr_html_(self) -> str:
        from psgraph.publication.cards import plan_card

        return plan_card(self)

    def to_dict(self) -> dict[str, Any]:
        return {
            **self.promise.to_dict(),
            "epsilon": exact_decimal(self.guarantee.epsilon),
            "window": self.guarantee.window,
            "epsilon_per_timestamp": (
                exact_decimal(self.guarantee.per_timestamp) if self.even else None
            ),
            "nodes": self.nodes,
            "method": self.method,
            "measurements": [row.to_dict() for row in self.rows],
            "remarks": list(self.remarks),
            "caveat": self.caveat.text if self.caveat else None,
        }


def plan(guarantee: WEventPrivacy, *, nodes: int, method: MethodLike = DEFAULT_METHOD) -> Plan:
    """Return the noise scales a method would work with. Spends nothing.

    >>> for row in plan(WEventPrivacy("1", window=5), nodes=10_000).rows[:2]:
    ...     print(row.case, "|", row.label, "|", round(row.scale, 1))
    communities kept | edges | 100.0
    communities kept | inner degrees | 10.5
    """
    if isinstance(nodes, bool) or not isinstance(nodes, int) or nodes < 0:
        raise InvalidArgument(f"nodes must be an integer of at least 0, not {nodes!r}")
    check_guarantee(guarantee)
    chosen = choose_method(method)
    return Plan(
        guarantee,
        nodes,
        chosen.name,
        rows=tuple(chosen.plan(guarantee, nodes=nodes)),
        remarks=tuple(chosen.plan_remarks(guarantee, nodes=nodes)),
        caveat=chosen.caveat,
        even=type(chosen).request is Method.request,
    )
