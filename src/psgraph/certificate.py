"""The certificate of a release: what was promised and what was spent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from psgraph.errors import exact_decimal
from psgraph.graph import SyntheticGraph
from psgraph.methods.base import Caveat
from psgraph.privacy.budget import ONE_EDGE, WEventPrivacy
from psgraph.privacy.mechanisms import Charge

__all__ = ["Certificate", "Release"]


@dataclass(frozen=True)
class Certificate:
    """Fit to publish beside the graph: holds public facts and noisy values only."""

    timestamp: int
    time: str | None
    guarantee: WEventPrivacy
    charges: tuple[Charge, ...]
    spent: Fraction
    window_spent: Fraction
    method: str
    version: str
    parameters: Mapping[str, Any]
    roster: str
    nodes: int
    edges: int
    private: bool
    summary: Mapping[str, Any] = field(default_factory=dict)
    caveat: Caveat | None = None

    @property
    def provides(self) -> WEventPrivacy | None:
        """The guarantee the method really gives, seed or not; None if it gives none."""
        factor = Fraction(1) if self.caveat is None else self.caveat.factor
        if factor is None:
            return None
        return WEventPrivacy(self.guarantee.epsilon * factor, self.guarantee.window)

    @property
    def promise(self) -> str:
        """The promise in one sentence, or that there is none."""
        text = "" if self.caveat is None else self.caveat.text
        if self.provides is None:
            return f"No privacy is promised: {text}"
        promise = f"{self.provides.promise} {text}".rstrip()
        if not self.private:
            return (
                "No privacy is promised: this release was made with a known seed, for research. "
                f"Without the seed: {promise}"
            )
        return promise

    def to_dict(self) -> dict[str, Any]:
        """The certificate as plain values, exact numbers as text."""
        return {
            "promise": self.promise,
            "private": self.private,
            "provides_epsilon": (
                exact_decimal(self.provides.epsilon) if self.private and self.provides else None
            ),
            "unit": ONE_EDGE,
            "epsilon": exact_decimal(self.guarantee.epsilon),
            "window": self.guarantee.window,
            "timestamp": self.timestamp,
            "time": self.time,
            "spent": {
                "timestamp": exact_decimal(self.spent),
                "window": exact_decimal(self.window_spent),
                "mechanisms": [charge.to_dict() for charge in self.charges],
            },
            "method": self.method,
            "parameters": dict(self.parameters),
            "version": self.version,
            "roster": self.roster,
            "nodes": self.nodes,
            "edges": self.edges,
            "summary": dict(self.summary),
        }

    def to_json(self) -> str:
        """The certificate as it is written to a file."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"


@dataclass(frozen=True)
class Release:
    """The synthetic graph of one timestamp with its certificate."""

    graph: SyntheticGraph
    certificate: Certificate

    @property
    def timestamp(self) -> int:
        """Its place in the stream, from 0."""
        return self.certificate.timestamp
