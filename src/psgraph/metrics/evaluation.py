"""Try methods on one's own stream: every method, budget and repetition, compared with the truth.

**Not private, for research.** The runs are seeded and their results contain facts about the
private edges without noise. Choosing a method or ε by them on the data that are published later
is not covered by the guarantee; use other data of the same kind, or earlier data.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from psgraph._runtime.extras import require_drawing
from psgraph._runtime.html import card, grid, note
from psgraph._runtime.numbers import count
from psgraph.errors import DataError, InvalidArgument, exact_decimal
from psgraph.methods import DEFAULT_METHOD
from psgraph.methods.base import Method
from psgraph.methods.registry import MethodLike, choose_method
from psgraph.metrics.comparison import Comparison, chosen_metrics, compare, records_to_pandas
from psgraph.metrics.groups import find_metric, headline_metrics
from psgraph.metrics.metric import UNDEFINED
from psgraph.privacy.guarantee import EpsilonLike, WEventPrivacy, exact_epsilon
from psgraph.publication.checks import check_stream
from psgraph.publication.publisher import Publisher

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from psgraph.graph import Snapshot

__all__ = ["NOT_PRIVATE", "Evaluation", "Run", "evaluate"]

NOT_PRIVATE = "Not private: seeded runs for research, compared with the original edges."


@dataclass(frozen=True)
class Run:
    """One seeded run of a method over the stream, and how it compares with the truth."""

    method: str
    epsilon: Fraction
    repeat: int
    seed: int
    comparison: Comparison = field(repr=False)

    def values(self) -> dict[str, float]:
        """The metrics averaged over time, where they are defined; NaN where none is."""
        named: dict[str, list[float | None]] = {}
        for row in self.comparison.rows:
            for name, value in {**row.fidelity.to_dict(), **row.more}.items():
                named.setdefault(name, []).append(value)
        return {name: _mean_where_defined(values) for name, values in named.items()}


@dataclass(frozen=True, repr=False)
class Evaluation:
    """The runs of `evaluate`, as a table and as a figure. Not private: for research.

    Attributes
    ----------
    runs
        In the order of methods, budgets and repetitions.
    window
        w, the same for all.
    """

    runs: tuple[Run, ...]
    window: int

    def __repr__(self) -> str:
        return (
            f"Evaluation({count(len(self.methods), 'method')}, "
            f"{count(len(self.epsilons), 'budget')}, {count(len(self.runs), 'run')}; not private)"
        )

    @property
    def methods(self) -> tuple[str, ...]:
        """The labels of the methods, in the order given."""
        return tuple(dict.fromkeys(run.method for run in self.runs))

    @property
    def epsilons(self) -> tuple[Fraction, ...]:
        """The budgets, ascending."""
        return tuple(sorted({run.epsilon for run in self.runs}))

    def records(self) -> list[dict[str, Any]]:
        """The tidy table: one row per method, budget, repetition, timestamp and metric."""
        return [
            {
                "method": run.method,
                "epsilon": float(run.epsilon),
                "window": self.window,
                "repeat": run.repeat,
                "timestamp": row.timestamp,
                "time": row.time,
                "metric": name,
                "value": value,
            }
            for run in self.runs
            for row in run.comparison.rows
            for name, value in {**row.fidelity.to_dict(), **row.more}.items()
        ]

    def to_pandas(self) -> pandas.DataFrame:
        """The tidy table as a pandas data frame."""
        return records_to_pandas(self.records())

    def summary(self) -> list[dict[str, Any]]:
        """One row per method, budget and metric: mean and standard error over repetitions.

        The mean over time leaves out timestamps at which the true value is zero: a relative error
        is undefined there. The standard error is None for a single repetition.
        """
        rows = []
        for method, epsilon in product(self.methods, self.epsilons):
            values = [
                run.values() for run in self.runs if run.method == method and run.epsilon == epsilon
            ]
            for name in values[0]:
                numbers = np.array([each[name] for each in values])
                error = numbers.std(ddof=1) / np.sqrt(len(numbers)) if len(numbers) > 1 else None
                rows.append(
                    {
                        "method": method,
                        "epsilon": float(epsilon),
                        "metric": name,
                        "mean": float(numbers.mean()),
                        "standard_error": None if error is None else float(error),
                        "repeats": len(numbers),
                    }
                )
        return rows

    def table(
        self, metrics: Sequence[str] | None = None
    ) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Column headings and rows of text, one row per method and budget.

        Shows the paper's five unless metrics are named; of other kinds of graphs, similar ones.
        """
        metrics = self._chosen(metrics)
        infos = [find_metric(name) for name in metrics]
        found = {(row["method"], row["epsilon"], row["metric"]): row for row in self.summary()}
        body = []
        for method, epsilon in product(self.methods, self.epsilons):
            cells = [found[method, float(epsilon), name] for name in metrics]
            texts = [
                info.number(cell["mean"])
                + (
                    ""
                    if cell["standard_error"] is None
                    else f" ± {info.number(cell['standard_error'])}"
                )
                for info, cell in zip(infos, cells, strict=True)
            ]
            body.append((method, exact_decimal(epsilon), *texts))
        headings = (f"{info.heading} {info.arrow}" for info in infos)
        return ("method", "ε", *headings), body

    def plot(self, metrics: Sequence[str] | None = None) -> Figure:
        """Draw each metric of `table` against ε, a line per method, with standard errors."""
        require_drawing()
        from psgraph.metrics.plots import plot_evaluation

        return plot_evaluation(self, self._chosen(metrics))

    def _chosen(self, metrics: Sequence[str] | None) -> tuple[str, ...]:
        kind = self.runs[0].comparison.kind
        shown = [metric.name for metric in headline_metrics(kind)]
        return chosen_metrics(shown if metrics is None else metrics, tuple(self.runs[0].values()))

    def _repr_html_(self) -> str | None:
        headings, rows = self.table()
        return card(f"Evaluation, w = {self.window}", grid(headings, rows), note(NOT_PRIVATE))


def evaluate(
    stream: Iterable[Snapshot],
    *,
    methods: Iterable[MethodLike] | Mapping[str, MethodLike] | MethodLike = DEFAULT_METHOD,
    epsilons: Iterable[EpsilonLike] = ("0.5", "1", "2"),
    window: int,
    repeats: int = 3,
    groups: Sequence[str] = (),
    seed: int = 0,
    progress: Callable[[int, int], object] | None = None,
) -> Evaluation:
    """Run methods on a stream and compare their releases with it. Not private: for research.

    Parameters
    ----------
    stream
        The snapshots, in order. All are kept in memory while the methods run.
    methods
        Method objects, classes, names, or ``"module:Class"``; one or several. A mapping gives
        them labels.
    epsilons, window
        The budgets of a window, and its length.
    repeats
        Runs of each method with each budget; their seeds differ.
    groups
        Optional metrics to compute as well, as in `psgraph.compare`.
    seed
        The same seed gives the same numbers.
    progress
        Called after every run with the number of runs done and their total.

    Examples
    --------
    >>> from psgraph.streams.demo import demo_stream
    >>> stream = demo_stream(nodes=300, timestamps=2)
    >>> found = evaluate(stream, methods=["tmf"], epsilons=["1"], window=2, repeats=2)
    >>> found, len(found.records())
    (Evaluation(1 method, 1 budget, 2 runs; not private), 28)
    """
    chosen = _labelled(methods)
    budgets = [exact_epsilon(epsilon) for epsilon in _several(epsilons)]
    if isinstance(repeats, bool) or not isinstance(repeats, int) or repeats < 1:
        raise InvalidArgument(f"repeats must be an integer of at least 1, not {repeats!r}")
    if not budgets or not chosen:
        raise InvalidArgument("there is nothing to run\nGive at least one method and one epsilon.")
    guarantees = {epsilon: WEventPrivacy(epsilon, window) for epsilon in budgets}
    check_stream(stream)
    snapshots = list(stream)
    if not snapshots:
        raise DataError("the stream has no snapshots, so there is nothing to evaluate")
    points = list(product(chosen.items(), guarantees.items(), range(repeats)))
    runs = []
    for done, ((label, method), (epsilon, guarantee), repeat) in enumerate(points, 1):
        derived = _seed(seed, label, exact_decimal(epsilon), guarantee.window, repeat)
        with Publisher(method, guarantee, seed=derived) as publisher:
            comparison = compare(snapshots, publisher.publish_all(snapshots), groups=groups)
        runs.append(Run(label, epsilon, repeat, derived, comparison))
        if progress is not None:
            progress(done, len(points))
    return Evaluation(tuple(runs), guarantee.window)


def _several(values: Any) -> list[Any]:
    """A list of what was given: one value, or several."""
    single = isinstance(values, str | int | float) or not isinstance(values, Iterable)
    return [values] if single else list(values)


def _labelled(methods: Any) -> dict[str, Method[Any, Any]]:
    if isinstance(methods, Mapping):
        return {str(label): choose_method(method) for label, method in methods.items()}
    found: dict[str, Method[Any, Any]] = {}
    for method in _several(methods):
        chosen = choose_method(method)
        label = _label(chosen)
        if label in found:
            raise InvalidArgument(
                f"method {label!r} is there twice\n"
                "Give a mapping from label to method to distinguish them."
            )
        found[label] = chosen
    return found


def _label(method: Method[Any, Any]) -> str:
    """The name, with the parameters that differ from their defaults."""
    usual = type(method)().parameters()
    other = [
        f"{name}={value}" for name, value in method.parameters().items() if value != usual.get(name)
    ]
    return f"{method.name}({', '.join(other)})" if other else method.name


def _seed(*facts: object) -> int:
    """Derive a seed from everything that distinguishes two runs."""
    digest = hashlib.sha256(json.dumps(facts, ensure_ascii=False).encode()).digest()
    return int.from_bytes(digest[:8]) >> 1


def _mean_where_defined(values: Iterable[float | None]) -> float:
    numbers = np.array([value for value in values if value is not None and value < UNDEFINED])
    return float(numbers.mean()) if numbers.size else float("nan")
