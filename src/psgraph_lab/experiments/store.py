"""Results in one Parquet file, a row per cell, rewritten as they arrive.

Parquet files can't be appended to. The file is small, so it is replaced as a whole, atomically: a
reader or a crash sees a complete earlier version, never half a file. Values are stored with the
precision of float32, about seven digits; values at every timestamp with more than three digits. An
outcome that lacks what an experiment needs is run again.
"""

from __future__ import annotations

import ast
import fcntl
import hashlib
import json
import os
import sys
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from psgraph._runtime.arrays import Singles
from psgraph._runtime.durable import make_directory, write_whole
from psgraph.errors import DataError, OutputError
from psgraph.methods.registry import find_method
from psgraph.metrics.groups import GROUPS, VARIANTS
from psgraph_lab.experiments.cells import Cell, Outcome
from psgraph_lab.experiments.definition import Experiment, over_time_experiments
from psgraph_lab.experiments.noisy_tables import TABLES

__all__ = ["Needs", "Results", "needs_of", "source_of"]

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

    Empty for noise on tables, which is no method.

    >>> len(source_of("psgraph"))
    12
    """
    if method in TABLES:
        return ""
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


_CELL = ("dataset", "method", "epsilon", "window", "repetition", "timestamps", "share", "roster")
_FACTS = (*_CELL, "parameters", "version", "machine", "source")
_SERIES = "_over_time"
_BITS = 12  # significant bits of a value in a series
#: Key of the file's metadata: a digest of the seeds, which follow from the cells.
_SEEDS = b"seeds"


class Results(Mapping[Cell, Outcome]):
    """The outcomes in a file, by cell.

    Examples
    --------
    >>> import tempfile
    >>> cell = Cell("demo", "tmf", "1", 5, 0)
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = Path(directory) / "cells.parquet"
    ...     with Results.writing(path) as results:
    ...         results.add(Outcome(cell, {"density_error": 0.25}))
    ...     Results.read(path)[cell].values["density_error"]
    0.25
    """

    def __init__(self, path: Path, outcomes: Mapping[Cell, Outcome]) -> None:
        self.path = path
        self._outcomes = dict(outcomes)
        self._unsaved = False

    @classmethod
    def read(cls, path: Path) -> Results:
        """Read the outcomes in a file; there are none if it does not exist."""
        if not path.exists():
            return cls(path, {})
        try:
            table = pq.read_table(path)
            outcomes = [_outcome(row) for row in table.to_pylist()]
            if (table.schema.metadata or {}).get(_SEEDS) != _digest(outcomes):
                raise ValueError
            return cls(path, {outcome.cell: outcome for outcome in outcomes})
        except (pa.ArrowException, OSError, KeyError, TypeError, ValueError):
            raise DataError(
                f"{path} is not a file of results, or it is damaged\n"
                "Move it away; its cells will be run again."
            ) from None

    @classmethod
    @contextmanager
    def writing(cls, path: Path) -> Iterator[Results]:
        """Open results for adding, one process at a time; they are saved even after an error."""
        make_directory(path.parent)
        with _only_writer(path):
            results = cls.read(path)
            try:
                yield results
            finally:
                if results._unsaved or not path.exists():
                    results.save()

    def add(self, outcome: Outcome) -> None:
        """Add an outcome, or replace one; `save` writes it."""
        self._outcomes[outcome.cell] = outcome
        self._unsaved = True

    def save(self) -> None:
        """Replace the file by all outcomes, in a deterministic order."""
        rows = sorted(self._outcomes.values(), key=_order)
        write_whole(self.path, _packed(_table(rows)))
        self._unsaved = False

    def __getitem__(self, cell: Cell) -> Outcome:
        return self._outcomes[cell]

    def __iter__(self) -> Iterator[Cell]:
        return iter(self._outcomes)

    def __len__(self) -> int:
        return len(self._outcomes)


@contextmanager
def _only_writer(path: Path) -> Iterator[None]:
    """Lock the directory; the system releases the lock when the process ends."""
    try:
        directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise OutputError(f"{path.parent} can't be opened: {error.strerror}") from None
    try:
        try:
            fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OutputError(
                f"another process is adding results to {path.parent}\n"
                "Wait for it, or give another --out."
            ) from None
        yield
    finally:
        os.close(directory)


def _order(outcome: Outcome) -> tuple[Any, ...]:
    cell = outcome.cell
    whole = float("inf") if cell.timestamps is None else cell.timestamps
    return (
        cell.dataset,
        cell.method,
        json.dumps(dict(cell.parameters)),
        float(cell.epsilon),
        cell.window,
        whole,
        float(cell.share),
        cell.roster,
        cell.repetition,
    )


def _table(outcomes: list[Outcome]) -> pa.Table:
    columns: dict[str, Any] = {
        name: [getattr(outcome.cell, name) for outcome in outcomes] for name in _CELL
    }
    columns["timestamps"] = pa.array(columns["timestamps"], type=pa.int32())
    columns["parameters"] = [json.dumps(dict(outcome.cell.parameters)) for outcome in outcomes]
    for name in ("version", "machine", "source"):
        columns[name] = [getattr(outcome, name) for outcome in outcomes]
    for name in sorted({name for outcome in outcomes for name in outcome.values}):
        values = [outcome.values.get(name) for outcome in outcomes]
        columns[name] = pa.array(values, type=pa.float32())
    for name in sorted({name for outcome in outcomes for name in outcome.series}):
        series = [_rounded(outcome.series.get(name)) for outcome in outcomes]
        columns[name + _SERIES] = pa.array(series, type=pa.list_(pa.float32()))
    return pa.table(columns).replace_schema_metadata({_SEEDS: _digest(outcomes)})


def _rounded(series: Singles | None) -> Singles | None:
    """Keep twelve significant bits, more than three digits: half the space, and enough to draw."""
    if series is None:
        return None
    fraction, exponent = np.frexp(series)
    return np.ldexp(np.round(fraction * 2**_BITS), exponent - _BITS).astype(np.float32)


def _digest(outcomes: list[Outcome]) -> bytes:
    """Digest of the seeds of all outcomes, in their order: a changed cell has another seed."""
    seeds = ",".join(str(outcome.cell.seed) for outcome in outcomes)
    return hashlib.sha256(seeds.encode()).hexdigest().encode()


def _packed(table: pa.Table) -> pa.Buffer:
    """Write a table as small as Parquet can: floats are split by byte before compression."""
    floats = [field.name for field in table.schema if pa.types.is_floating(field.type)]
    series = [field.name for field in table.schema if pa.types.is_list(field.type)]
    split = {*floats, *series}
    sink = pa.BufferOutputStream()
    pq.write_table(
        table,
        sink,
        compression="brotli",  # 4 % smaller than zstd, and written rarely
        compression_level=11,
        use_dictionary=[name for name in table.column_names if name not in split],
        use_byte_stream_split=[*floats, *(f"{name}.list.element" for name in series)],
    )
    return sink.getvalue()


def _outcome(row: dict[str, Any]) -> Outcome:
    cell = Cell(
        **{name: row[name] for name in _CELL},
        parameters=tuple(sorted(json.loads(row["parameters"]).items())),
    )
    rest = {name: value for name, value in row.items() if name not in _FACTS and value is not None}
    return Outcome(
        cell,
        values={name: value for name, value in rest.items() if not name.endswith(_SERIES)},
        series={
            name.removesuffix(_SERIES): np.array(value, dtype=np.float32)
            for name, value in rest.items()
            if name.endswith(_SERIES)
        },
        version=row["version"],
        machine=row["machine"],
        source=row["source"],
    )
