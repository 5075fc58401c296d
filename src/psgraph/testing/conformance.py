"""Checks that a method keeps the protocol of `psgraph.methods.base`.

They look at a method from outside: at what it charges, at what comes out, and at what changes
when one edge does. They find mistakes; they don't prove privacy, which is what the method's own
note has to do.
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from psgraph.errors import MethodError
from psgraph.graph import UNDIRECTED, Kind, Snapshot, SyntheticGraph
from psgraph.graph.formats.parquet import edge_bytes, read_pairs
from psgraph.methods.base import Caveat, Method, NoisePlan, check_caveat
from psgraph.methods.private import Previous
from psgraph.methods.timestamp import Timestamp
from psgraph.privacy.budget import GIVEN_BACK, RESERVED, Charge
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.publication import records
from psgraph.testing.cases import (
    Step,
    kinds_of,
    leaves,
    measure,
    neighbours,
    rerun,
    run,
    spending,
    streams,
)

__all__ = ["Conformance", "check_method"]

AnyMethod = Method[Any, Any]

ALLOWANCES = (Fraction(1, 5), Fraction(4))
LITTLE = Fraction(1, 50)  # so little that noise never leaves a value alone many times in a row
SEEDS, SOME_SEEDS = range(20), range(8)  # of the first kind, and of others: most code is shared


@dataclass(frozen=True)
class Conformance:
    """What passed, and what was checked."""

    method: str
    checks: tuple[str, ...]
    subject: str = "method"

    def __str__(self) -> str:
        return "\n".join(
            [f"{self.subject} {self.method!r}:", *(f"  ✓ {check}" for check in self.checks)]
        )


def check_method(method: AnyMethod) -> Conformance:
    """Check a method on small graphs of every kind it publishes; takes a few seconds for each.

    Parameters
    ----------
    method
        A method as it would be handed to a publisher. It is not changed.

    Returns
    -------
    What was checked.

    Raises
    ------
    AssertionError
        At the first check that fails, saying which and what was found.

    Examples
    --------
    >>> from psgraph.methods.tmf import TmF
    >>> print(check_method(TmF()))
    method 'tmf':
      ✓ has the parts of a method
      ✓ is made of public parameters
      ✓ is defined on every graph
      ✓ charges exactly what it is allowed
      ✓ charges what it plans
      ✓ states a caveat for what is not proven
      ✓ draws from its budget only
      ✓ leaves the same trace on neighbouring graphs
      ✓ shows nothing without noise
      ✓ synthesises from sealed values alone
      ✓ does not look at the snapshot again
    """
    _OBSERVED.clear()
    _RAN.clear()
    for title, check in CHECKS.items():
        name = getattr(method, "name", type(method).__name__)
        try:
            check(copy.deepcopy(method))
        except AssertionError as error:
            raise AssertionError(f"method {name!r} fails “{title}”: {error}") from None
        except Exception as error:
            raise AssertionError(
                f"method {name!r} fails “{title}”: {type(error).__name__}: {error}"
            ) from error
    return Conformance(method.name, tuple(CHECKS))


def _has_the_parts(method: AnyMethod) -> None:
    assert isinstance(method, Method), "it is not a subclass of psgraph.methods.base.Method"
    for part in ("parameters", "request", "plan", "measure", "update", "synthesise", "summary"):
        assert callable(getattr(method, part)), f"it lacks {part}"
    assert isinstance(method.name, str), "name is not text"
    assert method.name, "name is empty"
    for kind in method.records:
        frozen = dataclasses.is_dataclass(kind) and kind.__dataclass_params__.frozen  # type: ignore[attr-defined]
        assert frozen, f"{kind.__name__} in records is not a frozen dataclass"
    caveat = method.caveat
    assert caveat is None or isinstance(caveat, Caveat), "caveat is not a Caveat"


def _is_made_of_public_parameters(method: AnyMethod) -> None:
    for parameter in inspect.signature(type(method)).parameters.values():
        assert parameter.kind is parameter.KEYWORD_ONLY, (
            f"the constructor takes {parameter.name!r} by position; write * before it"
        )
    parameters = dict(method.parameters())
    _assert_plain(parameters, "parameters()")
    again = dict(type(method)(**parameters).parameters())
    assert again == parameters, (
        f"made again from its parameters it has others: {again} instead of {parameters}"
    )


def _is_defined_on_every_graph(method: AnyMethod) -> None:
    for number, (_, case, _) in enumerate(_cases(method)):
        try:
            for step in _steps(method, number):
                _check_release(step.graph, step.timestamp.snapshot)
                _assert_plain(dict(method.summary(step.state)), "summary()")
        except AssertionError as error:
            raise AssertionError(f"on {case}: {error}") from None
        except Exception as error:
            raise AssertionError(f"on {case}: {type(error).__name__}: {error}") from error


def _check_release(graph: Any, snapshot: Snapshot) -> None:
    """A release has the roster and the kind of its snapshot, and only edges that the kind has."""
    kind, roster = snapshot.kind, snapshot.roster
    assert isinstance(graph, SyntheticGraph), (
        f"synthesise returned a {type(graph).__name__}, not a SyntheticGraph"
    )
    assert graph.roster == roster, "the graph has another roster than the snapshot"
    assert graph.kind == kind, f"the graph is {graph.kind}, and the snapshot {kind}"
    u, v = graph.parts.whole()
    roster.refuse_outside(u, v, time=None)
    assert kind.is_normal(u, v), "edges of the graph are repeated, or not in their normal form"
    weight = graph.weight
    if kind.largest_weight is None:
        assert weight is None, "edges of the graph have weights, and those of the snapshot none"
        return
    assert weight is not None, "edges of the graph have no weights"
    assert weight.shape == u.shape, "there is not one weight for each edge of the graph"
    within = (weight >= 1) & (weight <= kind.largest_weight)
    assert within.all(), f"a weight of the graph is not from 1 to {kind.largest_weight}"


def _charges_what_it_is_allowed(method: AnyMethod) -> None:
    for number, (_, case, _) in enumerate(_cases(method)):
        for step in _steps(method, number):
            assert step.timestamp.spent == step.timestamp.booked, (
                f"on {case} it spent {step.timestamp.spent} of {step.timestamp.booked}; what "
                "is left buys nothing and is gone unless it is given back"
            )


def _states_what_is_not_proven(method: AnyMethod) -> None:
    for number, (_, case, _) in enumerate(_cases(method)):
        for step in _steps(method, number):
            try:
                check_caveat(method, step.timestamp.charges)
            except MethodError as error:
                raise AssertionError(f"on {case}: {error}") from None


def _charges_what_it_plans(method: AnyMethod) -> None:
    for number, ((allowance, window), case, _) in enumerate(_cases(method)):
        guarantee = WEventPrivacy(allowance * window, window=window)
        for step in _steps(method, number):
            drawn = [
                charge
                for charge in step.timestamp.charges
                if charge.mechanism not in (RESERVED, GIVEN_BACK)
            ]
            planned: dict[str, list[NoisePlan]] = {}
            snapshot = step.timestamp.snapshot
            of_kind = {} if snapshot.kind == UNDIRECTED else {"kind": snapshot.kind}
            for row in method.plan(guarantee, nodes=len(snapshot.roster), **of_kind):
                planned.setdefault(row.case, []).append(row)
            assert not drawn or any(
                all(any(_is_planned(charge, row) for row in rows) for charge in drawn)
                for rows in planned.values()
            ), (
                f"on {case}, with a window of {window}, it drew "
                f"{_listed(_signature(tuple(drawn)))}, which no case of its plan has"
            )


def _is_planned(charge: Charge, row: NoisePlan) -> bool:
    """Whether a row of a plan announces a charge: its label, mechanism, ε and sensitivity."""
    paid = charge.epsilon >= row.epsilon if row.at_least else charge.epsilon == row.epsilon
    moved = row.sensitivity in (None, charge.sensitivity)
    return paid and moved and (charge.label, charge.mechanism) == (row.label, row.noise)


def _draws_from_its_budget_only(method: AnyMethod) -> None:
    for case, snapshots in _streams(method):
        first, second = (
            [records.encode(step.measurement)[0] for step in run(method, snapshots)]
            for _ in range(2)
        )
        assert first == second, (
            f"on {case} two measurements with the same noise differ: noise and random choices "
            "have to come from the budget"
        )


def _leaves_the_same_trace(method: AnyMethod) -> None:
    for case, sides in _pairs_of(method).items():
        traces = [[measured.charges for measured in side] for side in sides]
        what = {"mechanisms": _signature, "shapes": _shapes}
        for name, view in what.items():
            one, other = ({view(trace) for trace in side} for side in traces)
            # A trace may depend on noisy values. If it does not, it must not depend on the edge.
            told = one.isdisjoint(other) and 1 in (len(one), len(other))
            assert not told, (
                f"on {case} the {name} in its trace differ: {_listed(one)} and {_listed(other)}"
            )


def _shows_nothing_without_noise(method: AnyMethod) -> None:
    for case, sides in _pairs_of(method).items():
        shown = [[leaves(measured.measurement) for measured in side] for side in sides]
        one, other = ({name: [m.get(name) for m in side] for name in side[0]} for side in shown)
        for name in one.keys() & other.keys():
            told = _settled(one[name]), _settled(other[name])
            if None in told:
                continue
            (here, fixed_here), (there, fixed_there) = told  # type: ignore[misc]
            same_shape = here.shape == there.shape
            leaks = (
                (fixed_here & fixed_there & (here != there)).any()
                if same_shape
                else fixed_here.all() and fixed_there.all()
            )
            assert not leaks, (
                f"on {case} the measurement's {name!r} is the same whatever the noise, and "
                "changes with the edge: a private value got out without noise"
            )


def _synthesises_from_sealed_values(method: AnyMethod) -> None:
    unused = copy.deepcopy(method)
    for case, snapshots in _streams(method):
        state, graph = None, None
        for index, step in enumerate(run(method, snapshots)):
            pristine = copy.deepcopy(unused)  # what a method did before must not matter
            state = pristine.update(state, _stored(pristine, step.measurement))
            assert records.encode(state)[0] == records.encode(step.state)[0], (
                f"on {case} the state made from the stored measurement is another one: update "
                "must depend on nothing but the state and the measurement"
            )
            state = _stored(pristine, state)
            content = _file(rerun(pristine, state, graph, seed=index))
            assert content == _file(step.graph), (
                f"on {case} the graph made from the stored state is another one: synthesise must "
                "depend on nothing but the state, the release before and its random numbers"
            )
            graph = _read_back(content, step.graph)  # after a restart it comes from its file


def _does_not_look_again(method: AnyMethod) -> None:
    for case, snapshots in _streams(method):
        kept, poisoned = (
            [
                (records.encode(step.state)[0], step.graph)
                for step in run(method, snapshots, poison=poison)
            ]
            for poison in (False, True)
        )
        assert kept == poisoned, (
            f"on {case} the result changes when the edges are overwritten after measure: what "
            "measure returned still points at them"
        )


CHECKS: Mapping[str, Callable[[AnyMethod], None]] = {
    "has the parts of a method": _has_the_parts,
    "is made of public parameters": _is_made_of_public_parameters,
    "is defined on every graph": _is_defined_on_every_graph,
    "charges exactly what it is allowed": _charges_what_it_is_allowed,
    "charges what it plans": _charges_what_it_plans,
    "states a caveat for what is not proven": _states_what_is_not_proven,
    "draws from its budget only": _draws_from_its_budget_only,
    "leaves the same trace on neighbouring graphs": _leaves_the_same_trace,
    "shows nothing without noise": _shows_nothing_without_noise,
    "synthesises from sealed values alone": _synthesises_from_sealed_values,
    "does not look at the snapshot again": _does_not_look_again,
}


Case = tuple[tuple[Fraction, int], str, list[Snapshot]]


def _cases(method: AnyMethod) -> Iterator[Case]:
    """Yield even shares and windows to run a method with, and streams.

    All on the first kind that it publishes. On others the least and the most of it, in turn.
    """
    settings = [(allowance, window) for allowance in ALLOWANCES for window in _windows(method)]
    first, *others = kinds_of(method)
    for setting in settings:
        yield from ((setting, case, snapshots) for case, snapshots in _streams_of(first).items())
    for number, kind in enumerate(others):
        for setting in settings[number % 2 :: 3]:
            yield from ((setting, case, snapshots) for case, snapshots in _streams_of(kind).items())


_RAN: dict[int, list[Step]] = {}  # the method that is being checked, on each of its cases


def _steps(method: AnyMethod, number: int) -> Iterator[Step]:
    """Run a method on one of its cases, once for all checks that only look at what it did."""
    if number in _RAN:
        yield from _RAN[number]
        return
    (allowance, window), _, snapshots = next(islice(_cases(method), number, None))
    done = []
    for step in run(method, snapshots, allowance=allowance, window=window):
        done.append(step)
        yield step
    _RAN[number] = done


def _streams(method: AnyMethod) -> Iterator[tuple[str, list[Snapshot]]]:
    for kind in kinds_of(method):
        yield from _streams_of(kind).items()


@cache
def _streams_of(kind: Kind) -> dict[str, list[Snapshot]]:
    return {f"{_named(kind)}{case}": snapshots for case, snapshots in streams(kind).items()}


def _named(kind: Kind) -> str:
    return "" if kind == UNDIRECTED else f"{kind} graphs, "


def _windows(method: AnyMethod) -> tuple[int, ...]:
    """Windows that make a difference: two are enough where every timestamp takes the same share."""
    return (1, 2) if type(method).request is Method.request else (1, 3)


Sides = tuple[list[Timestamp], list[Timestamp]]

_OBSERVED: dict[type, dict[str, Sides]] = {}  # of the method that is being checked


def _pairs_of(method: AnyMethod) -> dict[str, Sides]:
    """What is measured on both of two neighbouring graphs, seed by seed, at first and later."""
    if type(method) in _OBSERVED:
        return _OBSERVED[type(method)]
    found: dict[str, Sides] = {}
    first, *others = kinds_of(method)
    windows = _windows(method)
    settings = [*((first, window) for window in windows), *((kind, windows[-1]) for kind in others)]
    for kind, window in settings:
        start = spending(allowance=LITTLE, window=window)
        for case, pair in neighbours(kind).items():
            (before,) = run(method, pair[:1], allowance=LITTLE, window=window)
            after = before.timestamp.spending
            for when, state, accountant, previous in (
                ("at first", None, start, None),
                ("later", before.state, after, Previous.of(pair[0], before.timestamp.charges)),
            ):
                one, other = (
                    [
                        measure(
                            method,
                            snapshot,
                            state,
                            seed=seed,
                            accountant=accountant,
                            previous=previous,
                        )
                        for seed in (SEEDS if kind == first else SOME_SEEDS)
                    ]
                    for snapshot in pair
                )
                found[f"{_named(kind)}{case}, {when}, with a window of {window},"] = one, other
    _OBSERVED[type(method)] = found
    return found


def _signature(trace: tuple[Charge, ...]) -> tuple[tuple[str, str, Fraction, int, str], ...]:
    return tuple((c.mechanism, c.label, c.epsilon, c.sensitivity, c.part) for c in trace)


def _shapes(trace: tuple[Charge, ...]) -> tuple[tuple[int, ...], ...]:
    return tuple(charge.shape for charge in trace)


def _settled(values: list[Any]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]] | None:
    """The first of equally shaped arrays, and where all of them agree; None if shapes differ."""
    arrays = [np.asarray(value) for value in values]
    if len({array.shape for array in arrays}) > 1:
        return None
    agree = np.ones(arrays[0].shape, dtype=bool)
    for array in arrays[1:]:
        agree &= array == arrays[0]
    return arrays[0], agree


def _stored(method: AnyMethod, record: Any) -> Any:
    """A record after it has been written and read back."""
    data, rosters = records.encode(record)
    return records.decode(data, classes=method.records, rosters=rosters.get)


def _file(graph: SyntheticGraph) -> bytes:
    """The file of a released graph."""
    return bytes(edge_bytes(graph.roster, graph.parts.whole(), graph.kind))


def _read_back(content: bytes, graph: SyntheticGraph) -> SyntheticGraph:
    pairs = read_pairs(content, Path("release"), graph.roster, graph.kind)
    return SyntheticGraph(graph.roster, *pairs, kind=graph.kind, weight=pairs.weight)


def _assert_plain(values: dict[str, Any], what: str) -> None:
    try:
        same = json.loads(json.dumps(values)) == values
    except (TypeError, ValueError):
        same = False
    assert same, f"{what} can't be written as JSON and read back: {values}"


def _listed(items: Any) -> str:
    return "; ".join(sorted(map(str, items))) or "nothing"
