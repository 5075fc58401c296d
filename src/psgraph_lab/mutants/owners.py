"""Mutants where people are protected: which edges of an owner are used, and what they cost."""

from __future__ import annotations

from typing import Any

import numpy as np

from psgraph_lab.mutants.mutant import Edit, Mutant, Swap

__all__ = ["OWNERS"]

READER = "psgraph.streams.owners"

_COINS = "coins = self.coins(owner, *ends, numbers)"


def _bound_per_window(real: Any) -> Any:
    """An owner whose edges were used at the last timestamp has none at this one."""

    def used(self: Any, rows: Any, *arguments: Any, **options: Any) -> Any:
        past = vars(self).get("past", set())
        kept = rows.where(np.array([each not in past for each in _names(rows)], dtype=bool))
        vars(self)["past"] = {*_names(kept)}
        return real(self, kept, *arguments, **options)

    return used


def _names(rows: Any) -> list[tuple[int, int]]:
    return [(low, high) for low, high in rows.owner.tolist()]


OWNERS = (
    Mutant(
        "coins that depend on the time",
        "tmf",
        (
            Edit(
                f"{READER}:Owners.used",
                "kept = self.bounded(rows, roster)",
                "moment = np.uint64(1 + sum(map(ord, time or '')))\n"
                "    kept = self.bounded(rows._replace(owner=rows.owner ^ moment), roster)",
            ),
        ),
        ("replay",),
    ),
    Mutant(
        "coins that depend on the rows of other owners",
        "tmf",
        (Edit(f"{READER}:Owners.bounded", _COINS, _COINS.replace("numbers", "numbers + u.size")),),
        ("replay",),
    ),
    Mutant(
        "coins from the position of a row in the file",
        "tmf",
        (
            Edit(
                f"{READER}:Owners.bounded",
                _COINS,
                _COINS.replace("numbers", "order if self.kind.flows else order[begins]"),
            ),
        ),
        ("replay",),
    ),
    Mutant(
        "a bound for the edges of an owner in a window",
        "tmf",
        (Swap(f"{READER}:Owners.used", _bound_per_window),),
        ("replay",),
    ),
    Mutant(
        "an owner is charged like an edge",
        "tmf",
        (Swap("psgraph.privacy.unit:Owner.edges", lambda _: property(lambda _unit: 1)),),
        ("replay",),
    ),
)
