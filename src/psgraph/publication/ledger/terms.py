"""What a ledger is begun for, and one timestamp of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from psgraph.privacy.budget import Charge
from psgraph.privacy.guarantee import WEventPrivacy

__all__ = ["Seal", "Terms"]


@dataclass(frozen=True)
class Terms:
    """What a ledger was begun for. It can't change afterwards."""

    epsilon: str
    window: int
    method: str
    law: int
    parameters: dict[str, Any]
    seed: int | None
    out: str | None

    @property
    def guarantee(self) -> WEventPrivacy:
        return WEventPrivacy(self.epsilon, self.window)

    @property
    def private(self) -> bool:
        """Whether the noise comes from a secret source."""
        return self.seed is None

    def to_bytes(self) -> bytes:
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":")).encode()

    @classmethod
    def from_bytes(cls, content: object) -> Terms:
        """The inverse of `to_bytes`; a `ValueError` for anything else."""
        if not isinstance(content, bytes):
            raise ValueError("not terms")
        try:
            terms = cls(**json.loads(content))
            _ = terms.guarantee
            if terms.to_bytes() != content or not isinstance(terms.parameters, dict):
                raise ValueError("not terms")
        except (AttributeError, RecursionError, TypeError, ValueError):
            raise ValueError("not terms") from None
        return terms

    def differences(self, other: Terms) -> Iterator[str]:
        """What differs, a line each: begun with, now."""
        stored, asked = self._flat(), other._flat()
        for name in stored | asked:
            old, new = stored.get(name), asked.get(name)
            if old != new:
                if name == "seed":
                    old, new = _seeded(old), _seeded(new)
                yield f"  {name:<20} begun with {old}, now {new}"

    def _flat(self) -> dict[str, Any]:
        fields = asdict(self)
        parameters: dict[str, Any] = fields.pop("parameters")
        # A parameter of a plug-in may be called window, and must not hide the window.
        return fields | {f"parameter {name}": value for name, value in parameters.items()}


def _seeded(seed: int | None) -> str:
    return "none (private)" if seed is None else f"{seed} (for research)"


@dataclass(frozen=True)
class Seal:
    """One sealed timestamp, without its measurement."""

    timestamp: int
    time: str | None
    spent: Fraction
    charges: tuple[Charge, ...]
    seed: int
    snapshot: bytes
    roster: str
    state: bytes
    version: str
    previous: bytes
    certificate: bytes | None
