"""The paper's statements, read from ``statements.toml``, and the verdicts on them."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import numpy as np

from psgraph._runtime.numbers import joined
from psgraph_lab.datasets import dataset_names, find_dataset
from psgraph_lab.experiments.cells import Cell, Outcome
from psgraph_lab.experiments.claims.checks import (
    Across,
    Advantage,
    Better,
    Bounds,
    Close,
    CloseToBest,
    Growth,
    MixedTrends,
    NoSingleBest,
    Together,
    Trend,
)
from psgraph_lab.experiments.claims.panel import Finding, Missing, Panel, Predicate
from psgraph_lab.experiments.definition import Experiment, experiment_names, find_experiment
from psgraph_lab.experiments.labels import found_metric
from psgraph_lab.experiments.summary import Curve, summarise

__all__ = [
    "KINDS",
    "PAPER_DATASETS",
    "Demand",
    "Statement",
    "Verdict",
    "check_claims",
    "meets",
    "read_statements",
]

Demand = Literal["every", "nearly all", "most", "some", "not every"]
Word = Literal["holds", "does not hold", "not testable here"]

PAPER_DATASETS = tuple(name for name in dataset_names() if find_dataset(name).paper)

KINDS: dict[str, Callable[..., Predicate]] = {
    "better": Better,
    "bounds": Bounds,
    "close": Close,
    "close-to-best": CloseToBest,
    "advantage": Advantage,
    "across": Across,
    "trend": Trend,
    "together": Together,
    "growth": Growth,
    "no-single-best": NoSingleBest,
    "mixed-trends": MixedTrends,
}


@dataclass(frozen=True)
class Statement:
    """One comparative statement of the paper.

    Attributes
    ----------
    text
        The statement in our words.
    experiment
        The experiment whose results decide.
    datasets
        The paper's data sets it is about.
    check, demand
        What is checked, and how often it must be true. None if no result can decide it.
    start, stop, epsilons
        The part of the axis it is about, and the budgets where these are lines.
    pooled
        Whether metrics are pooled; otherwise the demand applies to each.
    all_needed
        Whether it can be refuted only on all of its data sets, because it is about differences.
    untestable
        Why no result can decide it.
    """

    id: str
    section: str
    text: str
    experiment: str
    metrics: tuple[str, ...]
    datasets: tuple[str, ...]
    check: Predicate | None
    demand: Demand
    start: float = -math.inf
    stop: float = math.inf
    epsilons: tuple[str, ...] = ()
    pooled: bool = False
    all_needed: bool = False
    untestable: str = ""


@dataclass(frozen=True)
class Verdict:
    """The verdict of our results on a statement.

    Attributes
    ----------
    numbers
        The deciding values, a line for each data set and metric.
    reason
        How often it was true and how often it had to be, or why it can't be tested.
    stand_ins
        The same values for stand-ins, which don't count.
    shortened
        Whether only the beginnings of streams were run.
    otherwise
        The verdict under an alternative reading of its metrics, if any; it does not count.
    """

    statement: Statement
    verdict: Word
    numbers: str = ""
    reason: str = ""
    stand_ins: str = ""
    shortened: bool = False
    otherwise: Word | None = None


@cache
def read_statements() -> tuple[Statement, ...]:
    """Read all statements, in the paper's order.

    >>> read_statements()[2].id
    'eigen-1'
    """
    text = (files("psgraph_lab.experiments.claims") / "statements.toml").read_text(encoding="utf-8")
    return tuple(_statement(entry) for entry in tomllib.loads(text)["statements"])


def _statement(entry: dict[str, Any]) -> Statement:
    check: Predicate | None = None
    if "untestable" not in entry:
        kind = KINDS[entry["check"].pop("kind")]
        parameters = entry["check"].items()
        check = kind(**{key: tuple(it) if isinstance(it, list) else it for key, it in parameters})
    return Statement(
        id=entry["id"],
        section=entry["section"],
        text=entry["text"],
        experiment=entry["experiment"],
        metrics=tuple(entry["metrics"]),
        datasets=tuple(entry.get("datasets", PAPER_DATASETS)),
        check=check,
        demand=entry.get("demand", "every"),
        start=entry.get("from", -math.inf),
        stop=entry.get("to", math.inf),
        epsilons=tuple(entry.get("epsilons", ())),
        pooled=entry.get("pooled", False),
        all_needed=entry.get("all_needed", False),
        untestable=entry.get("untestable", ""),
    )


_NEARLY_ALL = 0.8
#: The paper's other two data sets are not available in its form.
_EXACT = ("as-733", "as-caida")
#: Alternative readings of the paper's "clustering coefficient" and "degree distribution".
_READINGS = {
    "clustering_error": "average_clustering_error",
    "degree_divergence": "degree_divergence_smoothed",
}


def check_claims(
    quality: Mapping[Cell, Outcome],
    costs: Mapping[Cell, Outcome],
    experiments: Mapping[str, Experiment] | None = None,
    *,
    statements: Sequence[Statement] | None = None,
) -> list[Verdict]:
    """Check every statement of the paper against results.

    Parameters
    ----------
    quality, costs
        Results of the experiments that compare with the truth, and of those that record time and
        memory.
    experiments
        By name, as they were run; the full experiments by default.
    statements
        Statements to check instead of the paper's.

    Examples
    --------
    >>> verdicts = check_claims({}, {})
    >>> {verdict.verdict for verdict in verdicts}
    {'not testable here'}
    """
    if experiments is None:
        experiments = {name: find_experiment(name) for name in experiment_names()}
    # An alternative reading needs to be stored for every cell.
    read = {
        metric: other
        for metric, other in _READINGS.items()
        if all(other in outcome.values for outcome in quality.values())
    }
    curves = {
        name: summarise(_with_readings(experiment, read), quality)
        if experiment.kind == "quality"
        else summarise(experiment, costs)
        for name, experiment in experiments.items()
        if experiment.kind in ("quality", "cost")
    }
    verdicts = []
    for statement in read_statements() if statements is None else statements:
        experiment = experiments.get(statement.experiment)
        verdict = _verdict(statement, experiment, curves)
        metrics = tuple(read.get(metric, metric) for metric in statement.metrics)
        if metrics != statement.metrics and verdict.verdict != "not testable here":
            other = _verdict(replace(statement, metrics=metrics), experiment, curves)
            verdict = replace(verdict, otherwise=other.verdict)
        verdicts.append(verdict)
    return verdicts


def _with_readings(experiment: Experiment, read: Mapping[str, str]) -> Experiment:
    others = [read[metric] for metric in experiment.metrics if metric in read]
    return replace(experiment, metrics=(*experiment.metrics, *others))


def meets(demand: Demand, findings: Sequence[Finding]) -> bool:
    """Whether findings support a statement as often as it demands; data sets weigh the same.

    >>> meets("most", [Finding("as-733", None, (1, 1, 1, -1), "")])
    True
    >>> meets("every", [Finding("as-733", None, (1, 1, 1, -1), "")])
    False
    """
    share = _share(findings, 1)
    match demand:
        case "every":
            return _share(findings, -1) == 0 and share > 0.5
        case "nearly all":
            return share >= _NEARLY_ALL
        case "most":
            return share > 0.5
        case "some":
            return share > 0
        case "not every":
            return share < 1


def _share(findings: Sequence[Finding], wanted: int) -> float:
    """The share of an outcome, averaged over data sets."""
    by_dataset: dict[str | None, list[int]] = {}
    for finding in findings:
        by_dataset.setdefault(finding.dataset, []).extend(finding.outcomes)
    shares = [outcomes.count(wanted) / len(outcomes) for outcomes in by_dataset.values()]
    return float(np.mean(shares))


@dataclass(frozen=True)
class _Seen:
    """Findings, and the results that were missing for more."""

    findings: list[Finding]
    missing: list[Missing]


def _verdict(
    statement: Statement, experiment: Experiment | None, curves: Mapping[str, list[Curve]]
) -> Verdict:
    verdict = Verdict(statement, "not testable here", reason=statement.untestable)
    check, found = statement.check, curves.get(statement.experiment)
    if check is None:
        return verdict
    if experiment is None or not found:
        return replace(verdict, reason=f"not run: {statement.experiment}")
    panel = Panel(
        labels=tuple(line.label for line in experiment.lines),
        curves=tuple(found),
        datasets=(),
        metrics=statement.metrics,
        start=statement.start,
        stop=statement.stop,
        epsilons=statement.epsilons,
    )
    run = {curve.dataset for curve in found}
    there = [name for name in statement.datasets if name in run]
    absent = [name for name in statement.datasets if name not in run]
    seen = _look(check, panel, there)
    verdict = replace(
        verdict,
        numbers="\n".join(finding.words() for finding in seen.findings),
        stand_ins=_on_stand_ins(check, panel, run, statement.datasets),
        shortened=experiment.timestamps is not None,
    )
    if not seen.findings:
        return replace(verdict, reason=_why_not(absent, seen.missing))
    groups = _groups(statement, seen.findings)
    holds = all(meets(statement.demand, group) for group in groups.values())
    if not holds and statement.all_needed and absent:
        seen_on, unseen = joined(_titles(there)), joined(_titles(absent))
        return replace(verdict, reason=f"not observed on {seen_on}; {unseen} may differ")
    shares = [
        f"{metric}true in {_share(group, 1):.0%}, opposite in {_share(group, -1):.0%}"
        for metric, group in groups.items()
    ]
    reason = f"{'; '.join(shares)}; required: {statement.demand}".replace("%", " %")
    not_run = [*_titles([name for name in absent if name in _EXACT]), *map(str, seen.missing)]
    if not_run:
        reason += f"; not run: {joined(not_run)}"
    return replace(verdict, verdict="holds" if holds else "does not hold", reason=reason)


def _groups(statement: Statement, findings: Sequence[Finding]) -> dict[str, list[Finding]]:
    """Findings grouped by metric where the demand applies to each metric separately."""
    groups: dict[str, list[Finding]] = {}
    several = len(statement.metrics) > 1 and not statement.pooled
    for finding in findings:
        about = f"{found_metric(finding.metric).words}: " if several and finding.metric else ""
        groups.setdefault(about, []).append(finding)
    return groups


def _look(check: Predicate, panel: Panel, datasets: Sequence[str]) -> _Seen:
    """Check each data set separately, so that one may be missing."""
    seen = _Seen([], [])
    together = [tuple(datasets)] if check.spans else [(name,) for name in datasets]
    for names in together:
        try:
            found = check.findings(replace(panel, datasets=names))
            seen.findings.extend(finding for finding in found if finding.outcomes)
        except Missing as missing:
            seen.missing.append(missing)
    return seen


def _on_stand_ins(check: Predicate, panel: Panel, run: set[str], datasets: Sequence[str]) -> str:
    """The findings on stand-ins, with the methods that ran on them."""
    stand_ins = [
        name
        for name in dataset_names()
        if name in run and find_dataset(name).stand_in_for in datasets
    ]
    if check.spans and stand_ins:
        seen = _look(check, panel, [*(name for name in datasets if name in run), *stand_ins])
        return "\n".join(finding.words() for finding in seen.findings)
    texts: list[str] = []
    for name in stand_ins:
        seen = _look(check, panel, [name])
        whole = bool(seen.findings)
        if not whole:  # slow methods may be missing: compare with those that ran
            lines = {panel.line(curve) for curve in panel.curves if curve.dataset == name}
            labels = tuple(label for label in panel.labels if label in lines)
            seen = _look(check, replace(panel, labels=labels), [name])
        texts.extend(finding.words(count=whole) for finding in seen.findings)
    return "\n".join(texts)


def _why_not(absent: Sequence[str], missing: Sequence[Missing]) -> str:
    """Why nothing could be decided: unavailable data sets, or missing runs."""
    lacking = next((each.datasets for each in missing if each.datasets), tuple(absent))
    if (not missing or missing[0].datasets) and not set(lacking) & set(_EXACT):
        titles = joined(_titles(lacking))
        are = "is" if len(lacking) == 1 else "are"
        return f"no results on {titles}, which {are} not available in the paper's form"
    return f"not run: {joined([str(each) for each in missing] or _titles(lacking))}"


def _titles(datasets: Sequence[str]) -> list[str]:
    return [find_dataset(name).title for name in datasets]
