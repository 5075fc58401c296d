"""The terms of a stream: everything its promise rests on, fixed when its ledger is started."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any

from psgraph.errors import InvalidArgument, UnitMismatch, UnknownKind, exact_decimal
from psgraph.graph.kind import UNDIRECTED, Kind
from psgraph.methods.base import Caveat, Method
from psgraph.methods.registry import find_method
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.unit import Edge, Owner
from psgraph.publication.legacy import terms_as_written_now
from psgraph.publication.locations import same_place

__all__ = [
    "LARGE_EPSILON",
    "Promise",
    "Spending",
    "Terms",
    "check_guarantee",
    "check_owner",
    "check_unit",
    "lifetime_losses",
    "refuse_without_promise",
    "thin_budget",
]

OF_KIND = ("directed", "weighted")  # facts of the unit that follow from the kind


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
    kind
        The kind of all snapshots; None if it was not said, and then any kind agrees with it.
    dropped
        What edges have in the input and not in the releases: "direction", "weights". By the
        columns or the type of the input alone.
    """

    guarantee: WEventPrivacy
    method: str
    distribution_version: int
    parameters: dict[str, Any]
    seed: int | None
    noise: str | None
    out: str | None
    kind: Kind | None = None
    dropped: tuple[str, ...] = ()

    def on(self, kind: Kind, dropped: tuple[str, ...] = ()) -> Terms:
        """Return the terms for graphs of a kind."""
        guarantee = self.guarantee.on(
            directed=kind.directed, weighted=kind.weighted, flows=kind.flows
        )
        return replace(self, kind=kind, guarantee=guarantee, dropped=dropped)

    def to_bytes(self) -> bytes:
        """The terms as stored by this version: canonical JSON.

        Those of undirected graphs without weights are stored as by versions that knew no others.
        """
        stated = self.guarantee.to_dict()
        if self.guarantee.unit == Edge():
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
            kind = Kind.from_dict(stored)
            for name in ("kind", "weights", "flows"):
                values.pop(name, None)
            dropped = tuple(map(str, values.pop("dropped", ())))
            terms = cls(guarantee=guarantee, kind=kind, dropped=dropped, **values)
            if not isinstance(terms.parameters, dict):
                raise ValueError("not terms")
        except UnknownKind:
            raise
        except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
            raise ValueError("not terms") from None
        return terms

    def differences(self, other: Terms) -> dict[str, tuple[object, object]]:
        """Return what differs, both values by name. A sampler that was not recorded never differs.

        Parameters and versions of two methods are not compared: the methods differ, and that is
        said.
        """
        if other.kind is None and self.kind is not None:
            other = other.on(self.kind)
        stored, given = self._flat(), other._flat()
        found: dict[str, tuple[object, object]] = {}
        for name in stored | given:
            of_method = name == "distribution_version" or name.startswith("parameter ")
            if of_method and self.method != other.method:
                continue
            old, new = stored.get(name), given.get(name)
            if old == new or (name == "noise" and old is None):
                continue
            if name == "out" and same_place(old, new):
                continue
            if name == "dropped":  # what the certificates say was decided when the ledger started
                continue
            found[name] = (_seeded(old), _seeded(new)) if name == "seed" else (old, new)
        if "kind" in found or "weights" in found:
            found = {name: each for name, each in found.items() if name not in OF_KIND}
        return found

    def _flat(self) -> dict[str, Any]:
        values = self._values()
        parameters: dict[str, Any] = values.pop("parameters")
        # A plug-in's parameter may be called "window", and must not hide the window.
        return (
            self.guarantee.to_dict()
            | values
            | {"kind": (self.kind or UNDIRECTED).name}
            | {f"parameter {name}": value for name, value in parameters.items()}
        )

    def _values(self) -> dict[str, Any]:
        """Everything except the guarantee, by name."""
        values = {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.name not in ("guarantee", "kind", "dropped")
        }
        kind = {} if self.kind is None else self.kind.to_dict()
        return {**values, **kind, **({"dropped": list(self.dropped)} if self.dropped else {})}


def _canonical(values: Any) -> bytes:
    return json.dumps(values, sort_keys=True, separators=(",", ":")).encode()


def _seeded(seed: int | None) -> str:
    return "none (private)" if seed is None else f"{seed} (for research)"


# ---- what the terms promise ----


LARGE_EPSILON = 20
"""A window with more than this protects nothing worth the name: e^20 is 485 million."""


@dataclass(frozen=True)
class Promise:
    """What is promised of a publication, which may be less than its guarantee.

    Attributes
    ----------
    guarantee
        What is charged.
    caveat
        How the method provides less than it is charged; None if it does not.
    seeded
        Whether the noise comes from a known seed.

    Examples
    --------
    >>> promise = Promise(WEventPrivacy("1", window=5), Caveat(Fraction(2), "Noise for ε/2."))
    >>> promise.private, promise.kept, promise.verdict
    (True, False, 'yes, but with ε = 2 instead of 1')
    """

    guarantee: WEventPrivacy
    caveat: Caveat | None = None
    seeded: bool = False

    @classmethod
    def under(cls, terms: Terms) -> Promise:
        """Return the promise of a stream from the terms in its ledger.

        Nothing is promised of a method that is not installed here.
        """
        try:
            caveat = find_method(terms.method)(**terms.parameters).caveat
        except (InvalidArgument, TypeError):
            caveat = Caveat(
                None,
                f"method {terms.method!r}, with the parameters of this ledger, is not installed "
                "here, so what it provides is unknown.",
            )
        return cls(terms.guarantee, caveat, seeded=terms.seed is not None)

    @cached_property
    def provides(self) -> WEventPrivacy | None:
        """The guarantee the method provides, seeded or not; None if it provides none."""
        factor = Fraction(1) if self.caveat is None else self.caveat.factor
        if factor is None:
            return None
        return replace(self.guarantee, epsilon=self.guarantee.epsilon * factor)

    @property
    def private(self) -> bool:
        """Whether anything is promised."""
        return not self.seeded and self.provides is not None

    @property
    def kept(self) -> bool:
        """Whether the guarantee itself is promised, and not less."""
        provides = self.provides
        return self.private and provides is not None and provides.epsilon <= self.guarantee.epsilon

    @property
    def large(self) -> bool:
        """Whether what is promised is so little that it protects nothing."""
        provides = self.provides
        return self.private and provides is not None and provides.epsilon > LARGE_EPSILON

    @property
    def verdict(self) -> str:
        """A few words that answer: is it private?"""
        provides = self.provides
        if provides is None:
            return "NO: the method promises nothing"
        if self.seeded:
            return "NO, for research only"
        if self.large:
            return f"in name only, since {_no_protection(provides)}"
        if not self.kept:
            stated, given = exact_decimal(provides.epsilon), exact_decimal(self.guarantee.epsilon)
            return f"yes, but with ε = {stated} instead of {given}"
        return "yes"

    @property
    def text(self) -> str:
        """The promise in a sentence, or that there is none, as certificates seal it."""
        caveat = "" if self.caveat is None else self.caveat.text
        provides = self.provides
        if provides is None:
            return f"No privacy is promised: {caveat}"
        promise = f"{provides.text} {caveat}".rstrip()
        if self.seeded:
            return (
                "No privacy is promised: this release was made with a known seed, for research. "
                f"Without the seed: {promise}"
            )
        return promise

    def __str__(self) -> str:
        """The promise for people: the sealed words, and what its ε means in numbers."""
        provides = self.provides
        if not self.private or provides is None:
            return self.text
        return f"{self.text} {provides.meaning}"

    def to_dict(self) -> dict[str, Any]:
        """The promise for machines: the same keys in certificates and in every command."""
        provides = self.provides if self.private else None
        return {
            "promise": self.text,
            "private": self.private,
            "provides_epsilon": None if provides is None else exact_decimal(provides.epsilon),
        }


def check_unit(method: Method[Any, Any], guarantee: WEventPrivacy) -> None:
    """Refuse a guarantee for a unit that the method does not support."""
    if not isinstance(guarantee.unit, method.units):
        known = ", ".join(f"{unit.__name__}(…)" for unit in method.units)
        raise UnitMismatch(
            f"method {method.name!r} cannot protect {guarantee.unit.text}\n"
            f"Choose another method, or one of the units it supports: {known}."
        )


def check_owner(found: Owner | None, guarantee: WEventPrivacy, kind: Kind) -> None:
    """Refuse edges that were not bounded for the owners that the guarantee protects.

    Nor is a bound for owners read under a guarantee for edges: one edge more may then take the
    place of another.
    """
    unit = guarantee.unit.on(directed=kind.directed, weighted=kind.weighted, flows=kind.flows)
    protected = unit if isinstance(unit, Owner) else None
    if found == protected:
        return
    if found is None:
        assert protected is not None
        raise UnitMismatch(
            f"the guarantee protects {protected.text}, and in this stream nothing bounds what an "
            "owner contributes\n"
            f"Read it with owner={protected.column!r}, at_most={protected.at_most} (--owner "
            f"{protected.column} --at-most {protected.at_most}).",
            code="owner",
        )
    raise UnitMismatch(
        f"the guarantee protects {unit.text}, and this stream was read for {found.text}\n"
        f"Protect owners with unit=psgraph.Owner({found.column!r}, at_most={found.at_most}), or "
        "read the stream with other owners (--owner, --at-most), or without.",
        code="owner",
    )


def lifetime_losses(spends: Sequence[Fraction], longest: int) -> list[Fraction]:
    """Return the most that 1, 2, …, `longest` consecutive timestamps have spent together.

    It is what a tie, or a person, that was present for so long has lost at most; beyond the end of
    the stream, what it lost so far.

    >>> lifetime_losses([Fraction(1), Fraction(0), Fraction(2)], 4)
    [Fraction(2, 1), Fraction(2, 1), Fraction(3, 1), Fraction(3, 1)]
    """
    before = [Fraction(0), *accumulate(spends)]
    losses = []
    for length in range(1, longest + 1):
        span = min(length, len(spends))
        sums = (before[end] - before[end - span] for end in range(span, len(before)))
        losses.append(max(sums, default=Fraction(0)))
    return losses


def thin_budget(guarantee: WEventPrivacy) -> str | None:
    """Say so if the ε of a window is too small for each of an owner's edges to show anything.

    >>> thin_budget(WEventPrivacy("1", window=5, unit=Owner("u", at_most=200)))
    'ε = 1 for 200 edges of an owner is ε = 0.005 for one of them in a window: this is noise. \
Use fewer edges of an owner (--at-most), or a larger ε.'
    """
    share = guarantee.epsilon / guarantee.unit.edges
    if guarantee.unit.edges == 1 or share >= Fraction(1, 100):
        return None
    return (
        f"ε = {exact_decimal(guarantee.epsilon)} for {guarantee.unit.edges:,} edges of an owner is "
        f"ε = {float(share):.2g} for one of them in a window: this is noise. Use fewer edges of an "
        "owner (--at-most), or a larger ε."
    )


def check_guarantee(guarantee: WEventPrivacy) -> None:
    """Refuse what is not a guarantee."""
    if not isinstance(guarantee, WEventPrivacy):
        raise InvalidArgument(
            f"the guarantee is a WEventPrivacy, not {type(guarantee).__name__}\n"
            "Give for example psgraph.WEventPrivacy(epsilon='1', window=5).",
            code="not_a_guarantee",
        )


def refuse_without_promise(
    method: Method[Any, Any],
    guarantee: WEventPrivacy,
    *,
    seed: int | None,
    not_private: bool,
    large_epsilon: bool = False,
) -> None:
    """Refuse to publish with a method that breaks the guarantee, unless that was asked for.

    Nor with an ε that protects nothing, unless that was asked for too. A seed is for research,
    and exempt.
    """
    promise = Promise(guarantee, method.caveat, seeded=seed is not None)
    if promise.seeded:
        return
    provides = promise.provides
    if promise.large and provides is not None and not large_epsilon:
        raise InvalidArgument(
            f"{_no_protection(provides)}\n"
            f"Choose an ε of at most {LARGE_EPSILON} for a window; 1 is common. Or give a seed "
            "(--seed) for research, or large_epsilon=True (--yes-large-epsilon) to publish all "
            "the same."
        )
    if promise.kept or not_private:
        return
    found = "nothing" if provides is None else f"only {provides}"
    raise InvalidArgument(
        f"method {method.name!r} with these parameters promises {found}\n"
        f"{promise.caveat.text if promise.caveat else ''}\n"
        "Choose other parameters or another method; give a seed (--seed) for research; or say "
        "not_private=True (--not-private) to publish without the promise."
    )


def _no_protection(guarantee: WEventPrivacy) -> str:
    """Say what a large ε means.

    >>> _no_protection(WEventPrivacy("20", window=5))[:53]
    'ε = 20 per window is no protection: one edge can make'
    >>> _no_protection(WEventPrivacy("20", window=5))[53:]
    ' a release e^20 ≈ 485 million times as likely'
    """
    epsilon = exact_decimal(guarantee.epsilon)
    if len(epsilon) > 12:
        epsilon = f"{float(guarantee.epsilon):.3g}"
    return (
        f"ε = {epsilon} per window is no protection: {guarantee.unit.noun} can make a release "
        f"e^{epsilon} ≈ {_power_of_e(guarantee.epsilon)} times as likely"
    )


def _power_of_e(exponent: Fraction) -> str:
    """Write e^exponent in words, or as a power of ten where there are none."""
    digits = float(exponent) / math.log(10)
    for name, zeros in (("trillion", 12), ("billion", 9), ("million", 6)):
        if zeros <= digits < 15:
            return f"{10 ** (digits - zeros):.3g} {name}"
    return f"10^{digits:,.0f}" if digits < 1e9 else f"10^{digits:.3g}"


@dataclass(frozen=True, repr=False)
class Spending:
    """Spent and available ε in the current window, exact.

    Attributes
    ----------
    guarantee
        The promise that limits it.
    timestamps
        How many timestamps are published.
    spends
        The spends of the current window (the last w timestamps), oldest first.
    spent
        Their sum.
    remaining
        What the next timestamp can spend at most. The oldest spend of a full window leaves the
        window then, so this can be more than ε minus `spent`.

    Examples
    --------
    >>> accountant = Accountant(WEventPrivacy("1", window=2))
    >>> Spending.of(accountant)
    Spending(nothing spent, 1 available for timestamp 0)
    >>> accountant = accountant.record(Fraction(1, 4))
    >>> Spending.of(accountant.record(Fraction(1, 2)))
    Spending(0.75 of 1 spent in timestamps 0 to 1, 0.5 available for timestamp 2)
    """

    guarantee: WEventPrivacy
    timestamps: int
    spends: tuple[Fraction, ...]
    spent: Fraction
    remaining: Fraction

    @classmethod
    def of(cls, accountant: Accountant) -> Spending:
        """Read an accountant."""
        return cls(
            guarantee=accountant.guarantee,
            timestamps=accountant.timestamps,
            spends=accountant.recent,
            spent=accountant.window_spent,
            remaining=accountant.remaining,
        )

    @property
    def window(self) -> str:
        """The timestamps of the current window in words."""
        last = self.timestamps - 1
        if not self.spends:
            return "before the first timestamp"
        first = self.timestamps - len(self.spends)
        return f"timestamp {last}" if first == last else f"timestamps {first} to {last}"

    def _repr_html_(self) -> str | None:
        from psgraph.publication.cards import spending_card

        return spending_card(self)

    def __repr__(self) -> str:
        spent, epsilon = exact_decimal(self.spent), exact_decimal(self.guarantee.epsilon)
        so_far = f"{spent} of {epsilon} spent in {self.window}" if self.spends else "nothing spent"
        available = f"{exact_decimal(self.remaining)} available for timestamp {self.timestamps}"
        return f"Spending({so_far}, {available})"
