"""Error bars that cost no ε: how far to trust releases, from the releases alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

from psgraph._runtime.html import card, grid, note, paragraph
from psgraph._runtime.numbers import count, exact_decimal
from psgraph.errors import DataError, InvalidArgument
from psgraph.graph import SyntheticGraph
from psgraph.graph.kind import UNDIRECTED, Kind
from psgraph.methods.base import Method
from psgraph.metrics.groups import headline_metrics
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.unit import Owner
from psgraph.publication.certificate import Certificate, Release
from psgraph.publication.planning import effects_of
from psgraph.publication.releases import Releases, read_releases
from psgraph.trust.calibration import load_calibration, method_calibration
from psgraph.trust.intervals import Estimate, edge_margin, estimate_statistics
from psgraph.trust.jumps import (
    Jump,
    find_jumps,
    jump_note,
    predicted_timestamps,
    shown_timestamps,
)
from psgraph.trust.prediction import Prediction, predict_errors
from psgraph.trust.quantities import CURVE_DEGREES, curve_name
from psgraph.trust.reruns import check_effort, method_of, run_bootstrap
from psgraph.trust.verdicts import Verdict, judge

__all__ = [
    "TRUST_SECONDS",
    "ExpectedErrors",
    "ReleasesLike",
    "expected_errors",
    "expected_within",
]

ReleasesLike = str | PathLike[str] | Sequence[Release]

REPETITIONS = 3
TRUST_SECONDS = 5.0  # that a report takes for predictions by default
LEAST_NODES = 50  # what predictions were checked on has about a hundred nodes or more
# Errors whose factors do not hold for releases that follow public labels.
OF_COMMUNITIES = ("community_modularity_error", "adjusted_rand_index")
FULL = 0.9  # share of node pairs that are edges, above which a graph can hardly change


@dataclass(frozen=True)
class ExpectedErrors:
    """Predicted errors of releases, and intervals around their statistics.

    Everything in it follows from public releases, so it is public too.

    Attributes
    ----------
    method, guarantee
        Of the releases.
    releases, timestamps
        The number of releases, and how many of them were rerun before the time was up.
    times
        The times of the timestamps that were rerun, where they have any.
    nodes
        The number of nodes at each of them.
    repetitions, seed
        How often the releases were rerun, and from which seed.
    errors
        Predictions by name of metric.
    statistics
        Intervals by name of statistic.
    verdicts
        Questions of analysts, and whether the releases answer them.
    jumps
        Of the released edge count; see `psgraph.trust.jumps`.
    predicted
        The timestamps for which something is predicted, and that means over time are taken over:
        those that were rerun, without those around jumps.
    notes
        What limits the predictions.
    kind
        Of the releases.
    side_nodes
        The number of nodes on each side of the last release that was rerun; one if ends are alike.
    """

    method: str
    guarantee: WEventPrivacy
    releases: int
    timestamps: int
    times: tuple[str | None, ...]
    nodes: tuple[int, ...]
    repetitions: int
    seed: int
    calibrated: bool
    errors: Mapping[str, Prediction] = field(hash=False)
    statistics: Mapping[str, Estimate] = field(hash=False)
    verdicts: tuple[Verdict, ...]
    notes: tuple[str, ...]
    jumps: tuple[Jump, ...]
    predicted: tuple[int, ...]
    kind: Kind = UNDIRECTED
    side_nodes: tuple[int, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON; a missing number is None."""
        return {
            "method": self.method,
            **self.guarantee.to_dict(),
            **self.kind.to_dict(),
            "releases": self.releases,
            "timestamps": self.timestamps,
            "times": list(self.times),
            "predicted_timestamps": list(self.predicted),
            "jumps": [each.to_dict() for each in self.jumps],
            "repetitions": self.repetitions,
            "seed": self.seed,
            "calibrated": self.calibrated,
            "errors": {name: each.to_dict() for name, each in self.errors.items()},
            "statistics": {name: each.to_dict() for name, each in self.statistics.items()},
            "verdicts": [each.to_dict() for each in self.verdicts],
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        epsilon, window = exact_decimal(self.guarantee.epsilon), self.guarantee.window
        part = "" if self.timestamps == self.releases else f"{self.timestamps:,} of "
        published = f"{part}{count(self.releases, 'release')}"
        lines = [f"{published} of {self.method}, ε = {epsilon}, w = {window}"]
        lines += [f"{each.question} {each.answer}: {each.reason}" for each in self.verdicts]
        return "\n".join([*lines, *self.notes])

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Column headings and a row of text per metric: the prediction and its 90 % interval."""
        rows: list[tuple[str, ...]] = [
            (f"{each.words} {each.metric.arrow}", each.shown())
            for each in self.errors.values()
            if each.status == "unpredictable" or each.overall is not None
        ]
        return ("metric", "predicted, with 90 % interval"), rows

    @property
    def span(self) -> str:
        """The timestamps that means over time are taken over, in words."""
        if len(self.predicted) == self.releases:
            return (
                f"all {self.releases:,} timestamps" if self.releases > 1 else "the only timestamp"
            )
        if not self.predicted:
            return "no timestamp"
        return f"{shown_timestamps(self.predicted)} of {self.releases:,}"

    @property
    def headlines(self) -> tuple[Prediction, ...]:
        """The predictions of the metrics that reports show first."""
        return tuple(self.errors[metric.name] for metric in headline_metrics(self.kind))

    def curve(self, side: str = "") -> dict[int, Estimate]:
        """How many nodes have at least each degree, by degree; on a side, if there are two."""
        return {degree: self.statistics[curve_name(degree, side)] for degree in CURVE_DEGREES}

    def _repr_html_(self) -> str | None:
        columns, rows = self.table()
        questions = [(each.question, each.answer, each.reason) for each in self.verdicts]
        return card(
            f"Expected errors of {count(self.timestamps, 'release')}",
            grid(("question", "answered", "why"), questions, left=3),
            grid(columns, rows, left=2),
            *(paragraph(each) for each in self.notes[:1]),
            *(note(each) for each in self.notes[1:]),
        )


def expected_errors(
    releases: ReleasesLike,
    *,
    seed: int = 0,
    seconds: float | None = None,
    repetitions: int = REPETITIONS,
    progress: Callable[[], object] = lambda: None,
) -> ExpectedErrors:
    """Predict the errors of releases without the original: how far can they be trusted?

    The method that made the releases is run on them again, as if they were the truth, with fresh
    noise of the same size. The changes are corrected by factors learned on public
    streams. It needs no original, no ledger and no ε. Of directed, two-sided and weighted releases
    the errors of the reruns are shown without a correction: none was learned yet.

    Parameters
    ----------
    releases
        The directory of the releases, what `psgraph.read_releases` returned, or a list of
        releases.
    seed
        The same seed and number of repetitions give the same numbers.
    seconds
        When to stop: the timestamp in progress is finished. None runs all repetitions.
    repetitions
        How often the releases are rerun, at most.
    progress
        Called after every timestamp of every repetition.

    Raises
    ------
    DataError
        If there is no release, no edge or no room for more edges, fewer than 50 nodes, or more
        than one method or guarantee.
    VerificationFailed
        If a release is not as it was published.

    Examples
    --------
    >>> import psgraph as pg
    >>> stream = pg.demo_stream(nodes=300, timestamps=2)
    >>> with pg.Publisher(pg.TmF(), pg.WEventPrivacy("4", window=2)) as publisher:
    ...     releases = list(publisher.publish_all(stream))
    >>> found = expected_errors(releases, repetitions=1)
    >>> found.method, found.timestamps, found.verdicts[-1].answer
    ('tmf', 2, 'never')
    """
    check_effort(seed, seconds, repetitions)
    found = _releases(releases)
    certificates = _certificates(found)
    method, guarantee = method_of(certificates)
    if isinstance(guarantee.unit, Owner):
        raise DataError(
            "these releases protect all rows of a person, and don't say which edges are whose: the "
            "method can't be run on them again\nTheir errors cannot be predicted. psgraph plan "
            "--owner says how large the noise is."
        )
    kind = certificates[-1].kind
    _check_size(certificates, _pairs(found, certificates))
    bootstrap = run_bootstrap(
        _Graphs(found),
        method,
        guarantee,
        seed=seed,
        repetitions=repetitions,
        seconds=seconds,
        progress=progress,
    )
    calibration = method_calibration(method) if kind == UNDIRECTED else None
    if calibration is not None and _follows_labels(certificates[-1]):
        calibration = calibration.without(OF_COMMUNITIES)
    used = certificates[: bootstrap.timestamps]
    edges = bootstrap.released["edges"]
    jumps = find_jumps(edges, edge_margin(method, used, edges, "edges"), guarantee.window)
    predicted = predicted_timestamps(jumps, bootstrap.timestamps)
    bootstrap = bootstrap.only(predicted)
    errors = predict_errors(bootstrap, calibration, kind)
    statistics = estimate_statistics(bootstrap, calibration, method, used)
    return ExpectedErrors(
        method=method.name,
        guarantee=guarantee,
        releases=len(certificates),
        timestamps=bootstrap.timestamps,
        times=tuple(each.time for each in used),
        nodes=tuple(each.nodes for each in used),
        repetitions=len(bootstrap.repetitions),
        seed=seed,
        calibrated=calibration is not None,
        errors=errors,
        statistics=statistics,
        verdicts=judge(
            errors,
            statistics,
            kind=kind,
            noisy_degree=_noisy_degree(method, used[-1]) if kind == UNDIRECTED else None,
            predicted=predicted,
        ),
        notes=tuple(
            _notes(certificates, bootstrap.timestamps, jumps, calibrated=calibration is not None)
        ),
        jumps=jumps,
        predicted=predicted,
        kind=kind,
        side_nodes=_sizes(found, used[-1]),
    )


def expected_within(
    releases: str | PathLike[str] | Releases, seconds: float
) -> ExpectedErrors | None:
    """Predict the errors of releases for a report, as far as the time allows.

    None if no time is given, or nothing can be predicted: releases without any edge, of a method
    that is not installed, or without node lists; a report then has no such section. Also None for
    graphs in parts unless more than the default time is given: they would not be finished in it,
    and are held in memory while they are rerun.
    """
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or seconds < 0:
        raise InvalidArgument(f"trust_seconds must be a number of at least 0, not {seconds!r}")
    if not seconds:
        return None
    try:
        if not isinstance(releases, Releases):
            releases = read_releases(releases)
        if seconds <= TRUST_SECONDS and any(each.graph_parts for each in releases.certificates):
            return None
        return expected_errors(releases, seconds=seconds)
    except DataError:
        return None


def _sizes(releases: Sequence[Release], certificate: Certificate) -> tuple[int, ...]:
    """The number of nodes of each side of a release; only a two-sided one has to be read."""
    if not certificate.kind.two_sided:
        return (certificate.nodes,)
    return releases[certificate.timestamp].graph.roster.sizes


def _pairs(releases: Sequence[Release], certificates: Sequence[Certificate]) -> list[int]:
    """The number of pairs that can be edges, at each timestamp."""
    return [each.kind.pairs(*_sizes(releases, each)) for each in certificates]


def _check_size(certificates: Sequence[Certificate], pairs: Sequence[int]) -> None:
    """Refuse releases on which reruns show nothing because they cannot err.

    A graph without edges stays empty, and one that noise has filled stays full: both look perfect.
    """
    if not any(each.edges for each in certificates):
        raise DataError(
            "no release has an edge, so running the method on them again shows nothing\n"
            "Their errors cannot be predicted."
        )
    most = max(each.nodes for each in certificates)
    if most < LEAST_NODES:
        raise DataError(
            f"the releases have {count(most, 'node')}; predictions were checked on graphs of "
            f"{LEAST_NODES} nodes or more\nTheir errors cannot be predicted. "
            "psgraph plan says how large the noise is."
        )
    if all(each.edges > FULL * most for each, most in zip(certificates, pairs, strict=True)):
        raise DataError(
            f"more than {100 * FULL:g} % of all node pairs are edges in every release, so running "
            "the method on them again shows nothing\n"
            "Their errors cannot be predicted."
        )


def _follows_labels(last: Certificate) -> bool:
    """Whether releases followed public labels at the last timestamp, as the method says."""
    return bool(last.summary.get("labels_used", False))


def _noisy_degree(method: Method[Any, Any], last: Certificate) -> float | None:
    """Return the degree to which noise alone may lift a node; None if no degree is measured."""
    nodes = max(last.nodes, 1)
    rows = method.plan(last.guarantee, nodes=nodes)
    found = effects_of(rows, last.guarantee, nodes=nodes, edges=last.edges).degree
    return None if found is None else found[1]


class _Graphs:
    """The graphs of releases, read again whenever they are iterated."""

    def __init__(self, releases: Sequence[Release]) -> None:
        self._releases = releases

    def __iter__(self) -> Iterator[SyntheticGraph]:
        return (release.graph for release in self._releases)


def _releases(releases: ReleasesLike) -> Sequence[Release]:
    if isinstance(releases, str | PathLike):
        return read_releases(releases)
    if isinstance(releases, Releases):
        return releases
    if not isinstance(releases, list | tuple) or not all(
        isinstance(each, Release) for each in releases
    ):
        raise InvalidArgument(
            f"releases are a directory or a list of releases, not {type(releases).__name__}\n"
            "Give the path of the directory, or what psgraph.read_releases(...) returned."
        )
    if not releases:
        raise DataError("there is no release\nGive at least one.")
    return releases


def _certificates(releases: Sequence[Release]) -> Sequence[Certificate]:
    if isinstance(releases, Releases):
        return releases.certificates
    return [release.certificate for release in releases]


def _notes(
    certificates: Sequence[Certificate],
    timestamps: int,
    jumps: Sequence[Jump],
    *,
    calibrated: bool,
) -> Iterator[str]:
    """Yield what limits the predictions, the most important first."""
    last = certificates[-1]
    if jumps:
        yield jump_note(jumps, timestamps)
    if not calibrated:
        known_about = (
            f"nothing is known about predictions for {last.method} with these parameters"
            if last.kind == UNDIRECTED
            else "predictions were checked on undirected graphs without weights only"
        )
        yield (
            f"Not calibrated: {known_about}. Reruns are too optimistic where a method is biased; "
            "true errors may be several times as large."
        )
    else:
        known = load_calibration()
        epsilon, window = last.guarantee.epsilon, last.guarantee.window
        budgets = [float(each) for each in known.epsilons]
        if not (
            min(budgets) <= epsilon <= max(budgets)
            and min(known.windows) <= window <= max(known.windows)
        ):
            yield (
                f"ε = {exact_decimal(epsilon)} with w = {window} is outside the range that "
                f"predictions were checked in: ε from {min(budgets):g} to {max(budgets):g}, w "
                f"from {min(known.windows)} to {max(known.windows)}."
            )
        if _follows_labels(last):
            yield (
                "These releases follow public labels, and the factors were learned without: errors "
                "of communities are not predicted, and others are less certain than they look."
            )
    if timestamps < len(certificates):
        yield (
            f"The time was up after {count(timestamps, 'timestamp')} of {len(certificates):,}; "
            "later ones are not covered."
        )
    if not last.private:
        yield f"These releases promise no privacy: {last.promise.text}"
