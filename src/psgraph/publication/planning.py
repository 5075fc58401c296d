"""How noisy a publication would be, before anything is spent or any data is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from psgraph.errors import InvalidArgument, exact_decimal
from psgraph.methods.base import Method, NoisePlan, find_method
from psgraph.privacy.guarantee import WEventPrivacy

__all__ = ["Plan", "plan"]


@dataclass(frozen=True)
class Plan:
    """What each timestamp would measure, with how much noise."""

    guarantee: WEventPrivacy
    nodes: int
    method: str
    rows: tuple[NoisePlan, ...]

    def to_dict(self) -> dict[str, Any]:
        return {
            "epsilon": exact_decimal(self.guarantee.epsilon),
            "window": self.guarantee.window,
            "epsilon_per_timestamp": exact_decimal(self.guarantee.per_timestamp),
            "nodes": self.nodes,
            "method": self.method,
            "measurements": [row.to_dict() for row in self.rows],
        }


def plan(
    guarantee: WEventPrivacy, *, nodes: int, method: str | Method[Any, Any] = "psgraph"
) -> Plan:
    """Find the noise scales a method would work with. Spends nothing.

    >>> for row in plan(WEventPrivacy("1", window=5), nodes=10_000).rows[:2]:
    ...     print(row.case, "|", row.label, "|", round(row.scale, 1))
    communities kept | edges | 100.0
    communities kept | inner degrees | 10.5
    """
    if isinstance(nodes, bool) or not isinstance(nodes, int) or nodes < 0:
        raise InvalidArgument(f"nodes must be an integer of at least 0, not {nodes!r}")
    chosen = find_method(method)() if isinstance(method, str) else method
    rows = chosen.plan(guarantee, nodes=nodes)
    return Plan(guarantee, nodes, chosen.name, tuple(rows))
