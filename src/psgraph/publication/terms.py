"""The terms of a stream: everything its promise rests on, fixed when its ledger is started."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import Any

from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.unit import Edge
from psgraph.publication.legacy import terms_as_written_now
from psgraph.publication.locations import same_place

__all__ = ["Terms"]


@dataclass(frozen=True)
class Terms:
    """The terms a ledger was started under. They cannot change afterwards.

    Attributes
    ----------
    distribution_version
        The method's; see `psgraph.methods.base.Method`.
    seed
        None for a private stream.
    noise
        The sampler: "exact" or "opendp". None in a ledger started by version 0.1.0, which did not
        record it.
    out
        The directory of the releases, relative to the ledger, so that both can be moved together.
    """

    guarantee: WEventPrivacy
    method: str
    distribution_version: int
    parameters: dict[str, Any]
    seed: int | None
    noise: str | None
    out: str | None

    def to_bytes(self) -> bytes:
        """The terms as stored by this version: canonical JSON."""
        stated = self.guarantee.to_dict()
        if self.guarantee.unit == Edge():  # stored as by versions that knew no other unit
            del stated["unit"]
        return _canonical(self._values() | stated)

    @classmethod
    def from_bytes(cls, content: object) -> Terms:
        """Read stored terms, also those of version 0.1.0; a `ValueError` for anything else."""
        if not isinstance(content, bytes):
            raise ValueError("not terms")
        try:
            stored = json.loads(content)
            if _canonical(stored) != content:
                raise ValueError("not terms")
            stored = terms_as_written_now(stored)
            guarantee = WEventPrivacy.from_dict(stored)
            values = {name: stored[name] for name in stored.keys() - guarantee.to_dict().keys()}
            terms = cls(guarantee=guarantee, **values)
            if not isinstance(terms.parameters, dict):
                raise ValueError("not terms")
        except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
            raise ValueError("not terms") from None
        return terms

    def differences(self, other: Terms) -> dict[str, tuple[object, object]]:
        """Return what differs, both values by name. A sampler that was not recorded never differs.

        Parameters of two methods are not compared: the methods differ, and that is said.
        """
        stored, given = self._flat(), other._flat()
        found: dict[str, tuple[object, object]] = {}
        for name in stored | given:
            if name.startswith("parameter ") and self.method != other.method:
                continue
            old, new = stored.get(name), given.get(name)
            if old == new or (name == "noise" and old is None):
                continue
            if name == "out" and same_place(old, new):
                continue
            found[name] = (_seeded(old), _seeded(new)) if name == "seed" else (old, new)
        return found

    def _flat(self) -> dict[str, Any]:
        values = self._values()
        parameters: dict[str, Any] = values.pop("parameters")
        # A plug-in's parameter may be called "window", and must not hide the window.
        return (
            self.guarantee.to_dict()
            | values
            | {f"parameter {name}": value for name, value in parameters.items()}
        )

    def _values(self) -> dict[str, Any]:
        """Everything except the guarantee, by name."""
        return {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.name != "guarantee"
        }


def _canonical(values: Any) -> bytes:
    return json.dumps(values, sort_keys=True, separators=(",", ":")).encode()


def _seeded(seed: int | None) -> str:
    return "none (private)" if seed is None else f"{seed} (for research)"
