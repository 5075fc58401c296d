"""Rehearse a publication: what quality to expect of each ε, w and method, before spending.

Methods run on a public or artificial stream of the curator's size. No private data, ledger or
release is opened here, so the results need no protection, and ε and w can be chosen by them. The
runs are seeded: the same arguments give the same numbers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from time import monotonic
from typing import Any

import numpy as np

from psgraph.errors import InvalidArgument, exact_decimal
from psgraph.methods import COMPARED_METHODS
from psgraph.methods.base import Method
from psgraph.methods.registry import MethodLike, choose_method
from psgraph.metrics.fidelity import MoreMetrics, compute_fidelity
from psgraph.metrics.metric import UNDEFINED, GraphFacts
from psgraph.privacy.guarantee import EpsilonLike, WEventPrivacy
from psgraph.publication.terms import Promise
from psgraph.trust.rehearsal.size import check_memory, check_size, resize
from psgraph.trust.rehearsal.template import (
    PublicStream,
    Shape,
    Template,
    load_template,
    shape_of,
)
from psgraph.trust.reruns import rerun

__all__ = ["Cell", "Rehearsal", "rehearse"]

Values = Mapping[str, float]
"""Metrics by name."""

_GROUPS = ("communities", "stream")
_FEWEST_TIMESTAMPS = 12


@dataclass(frozen=True)
class Cell:
    """One choice of method, w and ε, and how good its releases were in each repetition.

    Attributes
    ----------
    promise
        What releases of this choice would promise.
    runs
        The metrics of each repetition, averaged over time.
    """

    method: str
    guarantee: WEventPrivacy
    promise: Promise
    runs: tuple[Values, ...]

    def mean(self, metric: str) -> float | None:
        """The mean over repetitions; None if the metric has no value on this stream."""
        values = self._values(metric)
        return float(np.mean(values)) if values else None

    def spread(self, metric: str) -> float | None:
        """The standard deviation over repetitions; None if fewer than two have a value."""
        values = self._values(metric)
        return float(np.std(values, ddof=1)) if len(values) > 1 else None

    def _values(self, metric: str) -> list[float]:
        return [run[metric] for run in self.runs if metric in run]

    def to_dict(self) -> dict[str, Any]:
        names = list(dict.fromkeys(name for run in self.runs for name in run))
        return {
            "method": self.method,
            **self.guarantee.to_dict(),
            "private": self.promise.kept,
            "repetitions": len(self.runs),
            "mean": {name: self.mean(name) for name in names},
            "spread": {name: self.spread(name) for name in names},
        }


@dataclass(frozen=True)
class Rehearsal:
    """What a rehearsal found.

    Attributes
    ----------
    like
        The public stream it was made from, as it was named.
    template, shape
        What that stream looks like, and what it looked like after resizing.
    cells
        The choices with at least one finished repetition, in the order of w, ε and method.
    unfinished
        The choices for which there was not enough time.
    repetitions
        How many were requested; cells may have fewer if time was limited.
    labels
        Which public labels its nodes have; empty if none were wanted.
    """

    like: str
    template: Shape
    shape: Shape
    cells: tuple[Cell, ...]
    unfinished: tuple[tuple[str, WEventPrivacy], ...]
    repetitions: int
    seed: int
    labels: str = ""

    @property
    def windows(self) -> tuple[int, ...]:
        return tuple(sorted({cell.guarantee.window for cell in self.cells}))

    @property
    def methods(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(cell.method for cell in self.cells))

    def of(self, window: int, method: str | None = None) -> list[Cell]:
        """The cells of a window, ε ascending, of one method or of all."""
        return [
            cell
            for cell in self.cells
            if cell.guarantee.window == window and method in (None, cell.method)
        ]

    def to_dict(self) -> dict[str, Any]:
        return {
            "like": self.like,
            "private_data_read": False,
            "seed": self.seed,
            "repetitions": self.repetitions,
            "template": self.template.to_dict(),
            "stream": self.shape.to_dict(),
            **({"labels": self.labels} if self.labels else {}),
            "cells": [cell.to_dict() for cell in self.cells],
            "unfinished": [
                {"method": method, **guarantee.to_dict()} for method, guarantee in self.unfinished
            ],
        }


def rehearse(
    like: PublicStream = "demo",
    *,
    nodes: int | None = None,
    edges: int | None = None,
    timestamps: int | None = None,
    methods: Sequence[MethodLike] = COMPARED_METHODS,
    epsilons: Iterable[EpsilonLike] = ("0.5", "1", "2"),
    windows: Iterable[int] = (5, 20),
    repetitions: int = 3,
    seed: int = 0,
    seconds: float | None = None,
    every: str | None = None,
    columns: str | None = None,
    labels: bool = False,
    progress: Callable[[int, int], object] | None = None,
) -> Rehearsal:
    """Run methods on a public stream of your size, and compare the releases with it.

    Parameters
    ----------
    like
        ``"demo"``, the name of an installed data set, the path of a **public** file, or public
        snapshots. Never give private data: the results are not protected.
    nodes, edges
        The number of nodes on your roster, and about how many edges a snapshot has. Without one
        of them the mean degree of the public stream is kept, without both its size.
    timestamps
        How many snapshots; by default as many as the longest window, and at least 12. A public
        stream that is shorter is used as it is.
    methods, epsilons, windows
        All combinations are run.
    repetitions
        Runs of each combination; the first of every combination comes before the second of any.
    seconds
        When to stop. What is finished by then is returned; the rest is listed as unfinished.
    every, columns
        How to read a file, as in `psgraph.read_stream`.
    labels
        Whether nodes keep the public labels of the stream, such as the departments of the demo.
    progress
        Called after every run with the number of runs finished and their total.

    Privacy: reads public data only, and spends nothing.

    Examples
    --------
    >>> found = rehearse(nodes=300, edges=2_000, timestamps=2, methods=["tmf"], epsilons=["1"],
    ...                  windows=[2], repetitions=1)
    >>> found.shape.nodes, found.cells[0].method, sorted(found.cells[0].runs[0])[0]
    (300, 'tmf', 'adjusted_rand_index')
    """
    deadline = None if seconds is None else monotonic() + seconds
    chosen = _by_name(methods)
    choices = _choices(chosen, epsilons, windows)
    repetitions = _at_least_one("repetitions", repetitions)
    longest = max(guarantee.window for _, guarantee in choices)
    wanted = max(longest, _FEWEST_TIMESTAMPS) if timestamps is None else timestamps
    if nodes is not None and edges is not None:
        check_size(nodes, edges)
    template = load_template(
        like, timestamps=_at_least_one("timestamps", wanted), every=every, columns=columns
    )
    if labels and template.labels is None:
        raise InvalidArgument(
            "the public stream has no public labels\nRehearse on one that has: the demo, a data "
            "set with labels, or snapshots whose roster has some.",
            code="no_labels",
        )
    stream = _resized(template, nodes, edges, seed)
    truths = [GraphFacts(snapshot) for snapshot in stream.snapshots(labels=labels)]
    runs: dict[tuple[str, WEventPrivacy], list[Values]] = {choice: [] for choice in choices}
    points = list(product(range(repetitions), choices))
    for done, (repetition, (name, guarantee)) in enumerate(points, 1):
        derived = _seed(seed, name, guarantee, repetition)
        values = _run(chosen[name], guarantee, truths, derived, deadline)
        if values is None:
            break
        runs[name, guarantee].append(values)
        if progress is not None:
            progress(done, len(points))
    return Rehearsal(
        like if isinstance(like, str) else str(getattr(like, "name", "snapshots")),
        template=shape_of(template),
        shape=shape_of(stream),
        cells=tuple(
            Cell(name, guarantee, Promise(guarantee, chosen[name].caveat), tuple(found))
            for (name, guarantee), found in runs.items()
            if found
        ),
        unfinished=tuple(choice for choice, found in runs.items() if not found),
        repetitions=repetitions,
        seed=seed,
        labels=stream.labels.listing if labels and stream.labels else "",
    )


def _by_name(methods: Sequence[MethodLike]) -> dict[str, Method[Any, Any]]:
    found: dict[str, Method[Any, Any]] = {}
    for method in [methods] if isinstance(methods, str) else methods:
        chosen = choose_method(method)
        if chosen.name in found:
            raise InvalidArgument(f"method {chosen.name!r} is there twice\nName it once.")
        found[chosen.name] = chosen
    return found


def _choices(
    methods: Iterable[str], epsilons: Iterable[EpsilonLike], windows: Iterable[int]
) -> list[tuple[str, WEventPrivacy]]:
    """All combinations, in the order of w, ε and method."""
    guarantees = {WEventPrivacy(each, window) for each, window in product(epsilons, windows)}
    ordered = sorted(guarantees, key=lambda each: (each.window, each.epsilon))
    choices = [(name, guarantee) for guarantee, name in product(ordered, methods)]
    if not choices:
        raise InvalidArgument(
            "there is nothing to rehearse\nGive at least one method, one ε and one window."
        )
    return choices


def _at_least_one(name: str, number: int) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise InvalidArgument(f"{name} must be an integer of at least 1, not {number!r}")
    return number


def _resized(template: Template, nodes: int | None, edges: int | None, seed: int) -> Template:
    """The template at the wanted size; its mean degree stays where only one number is given."""
    if nodes is None:
        nodes = template.nodes if edges is None else round(edges * template.nodes / template.edges)
    if edges is None:
        edges = max(1, round(nodes * template.edges / template.nodes))
    check_size(nodes, edges)
    check_memory(template, edges=edges)
    return resize(template, nodes=nodes, edges=edges, seed=seed)


def _run(
    method: Method[Any, Any],
    guarantee: WEventPrivacy,
    truths: Sequence[GraphFacts],
    seed: int,
    deadline: float | None,
) -> Values | None:
    """The metrics of one run, averaged over time; None if time ran out."""
    labelled = truths[0].graph.roster.labels is not None
    more = MoreMetrics((*_GROUPS, "labels") if labelled else _GROUPS)
    found: dict[str, list[float]] = {}
    published = rerun((truth.graph for truth in truths), method, guarantee, seed=seed)
    for truth in truths:
        if deadline is not None and monotonic() > deadline:
            return None
        release = GraphFacts(next(published))
        values = {**compute_fidelity(truth, release).to_dict(), **more.compute(truth, release)}
        for name, value in values.items():
            # A relative error is undefined where the true value is zero.
            if value is not None and value < UNDEFINED:
                found.setdefault(name, []).append(value)
    return {name: float(np.mean(values)) for name, values in found.items()}


def _seed(seed: int, method: str, guarantee: WEventPrivacy, repetition: int) -> int:
    """Derive a seed from everything that distinguishes two runs, and from nothing else."""
    facts = [seed, method, exact_decimal(guarantee.epsilon), guarantee.window, repetition]
    return int.from_bytes(hashlib.sha256(json.dumps(facts).encode()).digest()[:8]) >> 1
