"""The terms of a stream: everything its promise rests on, fixed when its ledger is begun."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.publication.locations import same_place

__all__ = ["Terms"]


@dataclass(frozen=True)
class Terms:
    """The terms a ledger was begun under. They can't change afterwards.

    Attributes
    ----------
    distribution_version
        The method's; see `psgraph.methods.base.Method`.
    seed
        None for a private stream.
    noise
        The sampler: "exact" or "opendp". None in a ledger begun by version 0.1.0, which did not
        record it.
    out
        The directory of the releases, relative to the ledger, so that both can be moved together.
    """

    epsilon: str
    window: int
    method: str
    distribution_version: int
    parameters: dict[str, Any]
    seed: int | None
    noise: str | None
    out: str | None

    @property
    def guarantee(self) -> WEventPrivacy:
        return WEventPrivacy(self.epsilon, self.window)

    def to_bytes(self) -> bytes:
        """The terms as stored by this version: canonical JSON."""
        return _canonical(asdict(self))

    @classmethod
    def from_bytes(cls, content: object) -> Terms:
        """Read stored terms, also those of version 0.1.0; a `ValueError` for anything else."""
        if not isinstance(content, bytes):
            raise ValueError("not terms")
        try:
            fields = json.loads(content)
            if _canonical(fields) != content:
                raise ValueError("not terms")
            if "law" in fields:  # version 0.1.0
                fields = {**fields, "distribution_version": fields["law"], "noise": None}
                del fields["law"]
            terms = cls(**fields)
            _ = terms.guarantee
            if not isinstance(terms.parameters, dict):
                raise ValueError("not terms")
        except (AttributeError, RecursionError, TypeError, ValueError):
            raise ValueError("not terms") from None
        return terms

    def differences(self, other: Terms) -> Iterator[str]:
        """Describe what differs, one line each. A sampler that was not recorded never differs.

        Parameters of two methods are not compared: the methods differ, and that is said.
        """
        stored, asked = self._flat(), other._flat()
        for name in stored | asked:
            if name.startswith("parameter ") and self.method != other.method:
                continue
            old, new = stored.get(name), asked.get(name)
            if old == new or (name == "noise" and old is None):
                continue
            if name == "out" and same_place(old, new):
                continue
            if name == "seed":
                old, new = _seeded(old), _seeded(new)
            yield f"  {name:<20} begun with {old}, now {new}"

    def _flat(self) -> dict[str, Any]:
        fields = asdict(self)
        parameters: dict[str, Any] = fields.pop("parameters")
        # A plug-in's parameter may be called "window", and must not hide the window.
        return fields | {f"parameter {name}": value for name, value in parameters.items()}


def _canonical(fields: Any) -> bytes:
    return json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()


def _seeded(seed: int | None) -> str:
    return "none (private)" if seed is None else f"{seed} (for research)"
