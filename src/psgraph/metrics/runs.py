"""The runs of an evaluation: a tidy table, a summary and a figure. Not private: for research."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from psgraph._runtime.extras import require_drawing
from psgraph._runtime.html import card, grid, note
from psgraph._runtime.numbers import count
from psgraph.errors import exact_decimal
from psgraph.metrics.frames import records_to_pandas
from psgraph.metrics.groups import METRICS, PAPER_METRICS
from psgraph.metrics.relative import UNDEFINED
from psgraph.metrics.report import Comparison, chosen_metrics

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

__all__ = ["NOT_PRIVATE", "Evaluation", "Run"]

NOT_PRIVATE = "Not private: seeded runs for research, compared with the original edges."

_PAPER = tuple(metric.name for metric in PAPER_METRICS)


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
        self, metrics: Sequence[str] = _PAPER
    ) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Column headings and rows of text, one row per method and budget."""
        metrics = chosen_metrics(metrics, tuple(self.runs[0].values()))
        infos = [METRICS[name] for name in metrics]
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

    def plot(self, metrics: Sequence[str] = _PAPER) -> Figure:
        """Draw each metric against ε, a line per method, with standard errors."""
        require_drawing()
        from psgraph.metrics.plots import plot_evaluation

        return plot_evaluation(self, chosen_metrics(metrics, tuple(self.runs[0].values())))

    def _repr_html_(self) -> str:
        headings, rows = self.table()
        return card(f"Evaluation, w = {self.window}", grid(headings, rows), note(NOT_PRIVATE))


def _mean_where_defined(values: Iterable[float | None]) -> float:
    numbers = np.array([value for value in values if value is not None and value < UNDEFINED])
    return float(numbers.mean()) if numbers.size else float("nan")
