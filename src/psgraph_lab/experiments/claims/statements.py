"""The paper's statements, read from ``statements.toml``, and the verdicts on them."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from psgraph_lab.datasets import dataset_names, find_dataset
from psgraph_lab.experiments.claims.comparisons import (
    Across,
    Advantage,
    Better,
    Bounds,
    Close,
    CloseToBest,
)
from psgraph_lab.experiments.claims.findings import Predicate
from psgraph_lab.experiments.claims.trends import Growth, MixedTrends, NoSingleBest, Together, Trend

__all__ = ["KINDS", "PAPER_DATASETS", "Demand", "Statement", "Verdict", "read_statements"]

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
