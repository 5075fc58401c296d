"""Cells of the calibration: what reruns of a release show, beside the true errors.

A cell publishes a data set once and treats the releases as an analyst would. Its values are those
that predictions are fitted to and checked with. Names of values::

    true|METRIC  first|METRIC              errors of releases, and of reruns, averaged over time
    true|METRIC|i  first|METRIC|i          the same at one of a few timestamps
    off|STATISTIC|i  moved|STATISTIC|i     true − released, and released − rerun
    spread|STATISTIC                       root mean square of the latter
    noise|FORM|i                           error of the edge count, in margins of that form
    true|METRIC|near  first|METRIC|near    means over the timestamps around jumps

Around jumps of the released edge count nothing is predicted (`psgraph.trust.jumps`), so those
timestamps are in no other value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from psgraph._runtime.arrays import Floats
from psgraph._version import __version__
from psgraph.methods.registry import find_method
from psgraph.metrics.metric import GraphFacts
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.publication.publisher import Publisher
from psgraph.trust.calibration import NOISE_FORMS
from psgraph.trust.intervals import edge_margin, features
from psgraph.trust.jumps import find_jumps, predicted_timestamps
from psgraph.trust.prediction import mean_of, to_log, to_scale
from psgraph.trust.quantities import ERRORS, STATISTICS, Errors, Statistics
from psgraph.trust.reruns import Bootstrap, run_bootstrap
from psgraph_lab.experiments.cells import Cell, Originals, Outcome
from psgraph_lab.experiments.runner import machine, originals_of
from psgraph_lab.experiments.store import source_of

__all__ = ["CHOSEN", "REPETITIONS", "calibrate_cell", "run_calibration_cell"]


REPETITIONS = 2  # reruns of a release
CHOSEN = 3  # timestamps of which values are kept


def calibrate_cell(cell: Cell, groups: tuple[str, ...], directory: Path | None) -> Outcome:
    """Run a cell in a process of its own."""
    del groups  # all are computed
    return Outcome(
        cell,
        values=run_calibration_cell(cell, originals_of(cell, directory)),
        version=__version__,
        machine=machine(),
        source=source_of(cell.method),
    )


def run_calibration_cell(cell: Cell, originals: Originals) -> dict[str, float]:
    """Publish a data set, rerun the method on its releases, and compare both with the truth.

    Examples
    --------
    >>> from psgraph.streams.demo import demo_stream
    >>> stream = Originals.of(demo_stream(nodes=300, timestamps=2))
    >>> values = run_calibration_cell(Cell("demo", "tmf", "4", 2, 0), stream)
    >>> values["true|density_error"] < 0.5, values["first|density_error"] < 0.5
    (True, True)
    """
    method = find_method(cell.method)(**dict(cell.parameters))
    guarantee = WEventPrivacy(cell.epsilon, window=cell.window)
    publisher = Publisher(method, guarantee, seed=cell.seed)
    releases = list(publisher.publish_all(originals.snapshots))
    graphs = [release.graph for release in releases]
    bootstrap = run_bootstrap(graphs, method, guarantee, seed=cell.seed, repetitions=REPETITIONS)
    certificates = [release.certificate for release in releases]
    edges = bootstrap.released["edges"]
    jumps = find_jumps(edges, edge_margin(method, certificates, edges, "edges"), guarantee.window)
    predicted = predicted_timestamps(jumps, len(graphs))
    chosen = _chosen(predicted)
    true_errors = _series(_errors(originals.facts, [GraphFacts(graph) for graph in graphs]))
    true_statistics = _series(_statistics(originals.facts))
    values = _error_values(bootstrap, true_errors, predicted, chosen)
    values |= _statistic_values(bootstrap.only(predicted), true_statistics, chosen)
    for form in NOISE_FORMS:
        margin = edge_margin(method, certificates, edges, form)
        for number, at in enumerate(chosen):
            off = abs(true_statistics["edges"][at] - edges[at])
            values[f"noise|{form}|{number}"] = off / margin[at]
    return {name: value for name, value in values.items() if np.isfinite(value)}


def _error_values(
    bootstrap: Bootstrap,
    true: Mapping[str, Floats],
    predicted: Sequence[int],
    chosen: Sequence[int],
) -> dict[str, float]:
    values = {}
    near = [at for at in range(bootstrap.timestamps) if at not in predicted]
    for name, info in ERRORS.items():
        first = [each.errors[name] for each in bootstrap.repetitions]
        for end, timestamps in (("", list(predicted)), ("|near", near)):
            rerun = mean_of([mean_of(each[timestamps]) for each in first])
            values[f"true|{name}{end}"] = float(to_log(info, mean_of(true[name][timestamps])))
            values[f"first|{name}{end}"] = float(to_log(info, rerun))
        for number, at in enumerate(chosen):
            values[f"true|{name}|{number}"] = float(to_log(info, true[name][at]))
            rerun = mean_of([each[at] for each in first])
            values[f"first|{name}|{number}"] = float(to_log(info, rerun))
    return values


def _statistic_values(
    bootstrap: Bootstrap, true: Mapping[str, Floats], chosen: Sequence[int]
) -> dict[str, float]:
    values = {}
    for name, info in STATISTICS.items():
        seen = features(bootstrap, info)
        off = to_scale(true[name], info.scale) - seen.released
        values[f"spread|{name}"] = seen.spread
        for number, at in enumerate(chosen):
            values[f"off|{name}|{number}"] = float(off[at])
            values[f"moved|{name}|{number}"] = float(seen.moved[at])
    return values


def _chosen(predicted: Sequence[int]) -> tuple[int, ...]:
    """Of the timestamps predicted, the last, the middle and the second, each once.

    >>> _chosen(range(9)), _chosen([0, 6]), _chosen([])
    ((8, 4, 1), (6,), ())
    """
    places = (len(predicted) - 1, len(predicted) // 2, min(1, len(predicted) - 1))
    return tuple(dict.fromkeys(predicted[place] for place in places if predicted))[:CHOSEN]


def _errors(
    truth: Sequence[GraphFacts], made: Sequence[GraphFacts]
) -> Iterator[Mapping[str, float]]:
    errors = Errors()
    for pair in zip(truth, made, strict=True):
        yield errors.compute(*pair)


def _statistics(graphs: Sequence[GraphFacts]) -> Iterator[Mapping[str, float]]:
    statistics = Statistics()
    for facts in graphs:
        yield statistics.compute(facts)


def _series(rows: Iterator[Mapping[str, float]]) -> dict[str, Floats]:
    found = list(rows)
    return {name: np.array([row[name] for row in found]) for name in found[0]}
