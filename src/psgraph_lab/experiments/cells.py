"""Cells of an evaluation: one seeded run of a method on a data set under a guarantee."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from psgraph.graph import Snapshot
from psgraph.methods.base import find_method
from psgraph.metrics.report import compute_fidelity
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.publication.publisher import Publisher

__all__ = ["UNDEFINED", "Cell", "Outcome", "Parameter", "mean_over_time", "run_cell"]

Parameter = str | int | bool

UNDEFINED = 1e6  # relative errors this large have a true value of zero


@dataclass(frozen=True)
class Cell:
    """What is run. Equal cells give equal numbers on every machine.

    Attributes
    ----------
    parameters
        Parameters of the method that differ from its defaults, by name.
    epsilon
        A decimal number, exactly as written in a definition.
    timestamps
        The number of snapshots, from the beginning; None for all.
    share
        The share of every snapshot's edges that is kept, a decimal number; the roster stays.
    """

    dataset: str
    method: str
    epsilon: str
    window: int
    repetition: int
    parameters: tuple[tuple[str, Parameter], ...] = ()
    timestamps: int | None = None
    share: str = "1"

    @cached_property
    def seed(self) -> int:
        """Derived from the whole cell, so that no two cells share their noise.

        >>> Cell("demo", "tmf", "1", 5, 0).seed
        3256181517154641327
        """
        facts = [
            self.dataset,
            self.method,
            self.epsilon,
            self.window,
            self.repetition,
            list(self.parameters),
            self.timestamps,
            self.share,
        ]
        digest = hashlib.sha256(json.dumps(facts, ensure_ascii=False).encode()).digest()
        return int.from_bytes(digest[:8]) >> 1

    def of(self, stream: list[Snapshot]) -> list[Snapshot]:
        """The part of a data set that the cell uses."""
        kept = stream[: self.timestamps]
        if self.share == "1":
            return kept
        # The same edges for every method and repetition; smaller shares are subsets of larger ones.
        rng = np.random.default_rng(0)
        thinned = []
        for snapshot in kept:
            edges = rng.random(snapshot.u.size) < float(self.share)
            thinned.append(
                Snapshot(snapshot.roster, snapshot.u[edges], snapshot.v[edges], time=snapshot.time)
            )
        return thinned


@dataclass(frozen=True)
class Outcome:
    """The result of a cell: metrics averaged over time, and optionally at every timestamp."""

    cell: Cell
    values: Mapping[str, float]
    series: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)
    version: str = ""
    machine: str = ""


def mean_over_time(values: Sequence[float]) -> float:
    """The mean over timestamps, excluding those where the original value is exactly zero.

    A relative error is undefined there: the denominator is the paper's γ (1e-15), and one month
    without a triangle would outweigh all others together.

    >>> mean_over_time([1.0, 2.0, 5e13])
    1.5
    """
    numbers = np.array(values)
    defined = numbers < UNDEFINED
    return float(numbers[defined].mean()) if defined.any() else float(numbers.mean())


def run_cell(cell: Cell, stream: list[Snapshot]) -> tuple[dict[str, float], dict[str, list[float]]]:
    """Publish a data set in memory; returns the metrics averaged over time and at every timestamp.

    Parameters
    ----------
    stream
        The complete data set.

    Examples
    --------
    >>> from psgraph.streams.demo import demo_stream
    >>> values, series = run_cell(Cell("demo", "tmf", "1", 5, 0), demo_stream(timestamps=3))
    >>> len(series["density_error"]), values["density_error"] < 0.2
    (3, True)
    """
    method = find_method(cell.method)(**dict(cell.parameters))
    guarantee = WEventPrivacy(cell.epsilon, window=cell.window)
    series: dict[str, list[float]] = {}
    found = []
    seconds = 0.0
    snapshots = cell.of(stream)
    releases = Publisher(method, guarantee, seed=cell.seed).publish_all(snapshots)
    for snapshot in snapshots:
        begin = perf_counter()
        release = next(releases)
        seconds += perf_counter() - begin
        for name, value in compute_fidelity(snapshot, release.graph).to_dict().items():
            series.setdefault(name, []).append(value)
        found.append(bool(release.certificate.summary.get("communities_found", False)))
    values = {name: mean_over_time(over_time) for name, over_time in series.items()}
    return {**values, "communities_found": float(np.mean(found)), "seconds": seconds}, series
