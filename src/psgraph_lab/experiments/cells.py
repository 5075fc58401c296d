"""One cell of an evaluation: a method on a data set under a guarantee, once, from a known seed."""

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
from psgraph.metrics.report import measure
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.publication.publisher import Publisher

__all__ = ["UNDEFINED", "Cell", "Outcome", "Parameter", "mean_over_time", "run_cell"]

Parameter = str | int | bool

UNDEFINED = 1e6  # no relative error comes near it unless it is one of zero


@dataclass(frozen=True)
class Cell:
    """What is run. Two cells that are equal give equal numbers, on every machine.

    Attributes
    ----------
    parameters
        Those of the method that differ from its defaults, by name.
    epsilon
        As a decimal number, exactly as it is written in a definition.
    timestamps
        Only so many snapshots from the beginning; None for all.
    share
        The share of every snapshot's edges that is kept, as a decimal number; the roster stays.
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
        """Drawn from all of the cell, so no two cells share their noise.

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
        """The part of a data set that the cell is about."""
        kept = stream[: self.timestamps]
        if self.share == "1":
            return kept
        # The same edges for every method and repetition, and a smaller share is part of a larger.
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
    """What a cell gave: one number each, and numbers over time."""

    cell: Cell
    values: Mapping[str, float]
    series: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)
    version: str = ""
    machine: str = ""


def mean_over_time(values: Sequence[float]) -> float:
    """The mean over timestamps; those where the original is exactly zero are left out.

    A relative error has no value there: the paper's γ (1e-15) stands in for the denominator, and
    one month without a triangle would outweigh all others together.

    >>> mean_over_time([1.0, 2.0, 5e13])
    1.5
    """
    numbers = np.array(values)
    defined = numbers < UNDEFINED
    return float(numbers[defined].mean()) if defined.any() else float(numbers.mean())


def run_cell(cell: Cell, stream: list[Snapshot]) -> tuple[dict[str, float], dict[str, list[float]]]:
    """Publish a data set in memory and compare: means over time, and the metrics at every time.

    Parameters
    ----------
    stream
        The whole data set.

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
        for name, value in measure(snapshot, release.graph).to_dict().items():
            series.setdefault(name, []).append(value)
        found.append(bool(release.certificate.summary.get("communities_found", False)))
    values = {name: mean_over_time(over_time) for name, over_time in series.items()}
    return {**values, "communities_found": float(np.mean(found)), "seconds": seconds}, series
