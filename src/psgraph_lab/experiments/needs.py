"""What an experiment needs of a stored outcome; one that lacks it is run again."""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from psgraph.methods.base import find_method
from psgraph.metrics.groups import GROUPS, VARIANTS
from psgraph_lab.experiments.cells import Cell, Outcome
from psgraph_lab.experiments.definition import Experiment, over_time_experiments

__all__ = ["Needs", "needs_of", "source_of"]

#: The claims are checked under these readings of two metrics too.
_OTHER_READINGS = tuple(info.name for info in VARIANTS)


@dataclass(frozen=True)
class Needs:
    """The metrics, series and sources that outcomes must have.

    Attributes
    ----------
    metrics
        Names of metrics. Those of a group that was not requested when a cell ran are missing.
    over_time, series
        Cells and metrics that are needed at every timestamp. Series take twenty times the space of
        means, and only figures over time draw them.
    sources
        The `source_of` methods that are still being changed. Outcomes from other sources are stale.
    """

    metrics: tuple[str, ...] = ()
    over_time: Container[Cell] = ()
    series: tuple[str, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups of metrics that have to be requested.

        >>> Needs(("density_error", "adjusted_rand_index")).groups
        ('communities',)
        """
        return tuple(
            name
            for name, group in GROUPS.items()
            if any(info.name in self.metrics for info in group.metrics)
        )

    def is_stale(self, outcome: Outcome) -> bool:
        """Whether an outcome comes from another source of its method."""
        method = outcome.cell.method
        return method in self.sources and outcome.source != self.sources[method]

    def met_by(self, outcome: Outcome) -> bool:
        """Whether an outcome has everything; if not, its cell has to be run again."""
        return (
            not self.is_stale(outcome)
            and all(name in outcome.values for name in self.metrics)
            and (
                outcome.cell not in self.over_time
                or all(name in outcome.series for name in self.series)
            )
        )

    def kept_series(self, outcome: Outcome) -> dict[str, NDArray[np.float32]]:
        """The series of an outcome that are stored."""
        if outcome.cell not in self.over_time:
            return {}
        return {name: values for name, values in outcome.series.items() if name in self.series}


def needs_of(
    experiment: Experiment, *, quick: bool = False, repetitions: int | None = None
) -> Needs:
    """What an experiment needs, and what the figures over time need of the cells it shares.

    >>> from psgraph_lab.experiments.definition import find_experiment
    >>> needs_of(find_experiment("end-to-end")).groups
    ()
    """
    if experiment.kind == "cost":
        return Needs()
    if experiment.kind == "calibration":
        return Needs(sources={line.method: source_of(line.method) for line in experiment.lines})
    if experiment.axis == "timestamp":
        drawn = [experiment]
    else:
        drawn = over_time_experiments(experiment.datasets, quick=quick, repetitions=repetitions)
    return Needs(
        metrics=experiment.metrics,
        over_time=frozenset(cell for each in drawn for cell in each.cells()),
        series=(*dict.fromkeys(name for each in drawn for name in each.metrics), *_OTHER_READINGS),
        sources={line.method: source_of(line.method) for line in experiment.lines if line.fresh},
    )


@cache
def source_of(method: str) -> str:
    """Digest of the Python files in a method's folder, without comments and docstrings.

    >>> len(source_of("psgraph"))
    12
    """
    module = sys.modules[find_method(method).__module__]
    digest = hashlib.sha256()
    for path in sorted(Path(str(module.__file__)).parent.glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            _remove_docstring(node)
        digest.update(f"{path.name}\n{ast.dump(tree)}\n".encode())
    return digest.hexdigest()[:12]


def _remove_docstring(node: ast.AST) -> None:
    body = getattr(node, "body", None)
    if not isinstance(body, list) or not body or not isinstance(body[0], ast.Expr):
        return
    if isinstance(body[0].value, ast.Constant) and isinstance(body[0].value.value, str):
        del body[0]
