"""Results survive: round trips, interruptions, two writers, damage."""

from __future__ import annotations

import multiprocessing
import os
import signal
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from psgraph.errors import DataError, OutputError
from psgraph_lab.experiments.cells import Cell, Outcome
from psgraph_lab.experiments.store import Results


def outcome(repetition: int = 0, **changes: object) -> Outcome:
    cell = Cell("demo", "psgraph", "0.5", 5, repetition, **changes)  # type: ignore[arg-type]
    return Outcome(
        cell,
        values={"density_error": 0.125 + repetition, "clustering_error": float("inf")},
        series={"density_error": np.array([0.125, np.inf, 3 * 2**-30, np.nan], np.float32)},
        version="1.0",
        machine="a machine",
        source="abc",
    )


def test_a_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "new" / "cells.parquet"
    variants = [
        outcome(),
        outcome(1),
        outcome(parameters=(("fusion", False), ("threshold", "0.01"))),
        outcome(timestamps=3, share="0.2"),
        outcome(roster="union"),
    ]
    with Results.writing(path) as results:
        for each in variants:
            results.add(each)
    read = Results.read(path)
    assert set(read) == {each.cell for each in variants}
    for each in variants:
        again = read[each.cell]
        assert again.values == each.values
        np.testing.assert_array_equal(again.series["density_error"], each.series["density_error"])
        assert (again.version, again.machine, again.source) == ("1.0", "a machine", "abc")


def test_series_keep_twelve_bits_and_saving_again_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "cells.parquet"
    exact = np.random.default_rng(1).lognormal(0, 5, 500).astype(np.float32)
    with Results.writing(path) as results:
        results.add(Outcome(outcome().cell, {}, {"density_error": exact}))
    stored = Results.read(path)[outcome().cell].series["density_error"]
    np.testing.assert_allclose(stored, exact, rtol=2**-12)
    first = path.read_bytes()
    with Results.writing(path) as results:
        results.add(results[outcome().cell])
    assert path.read_bytes() == first


def test_a_metric_without_a_value_is_not_a_missing_metric(tmp_path: Path) -> None:
    path = tmp_path / "cells.parquet"
    with Results.writing(path) as results:
        results.add(Outcome(outcome().cell, {"degree_change_correlation": float("nan")}))
        results.add(outcome(1))
    read = Results.read(path)
    assert np.isnan(read[outcome().cell].values["degree_change_correlation"])
    assert "degree_change_correlation" not in read[outcome(1).cell].values


def test_bytes_do_not_depend_on_the_order_of_arrival(tmp_path: Path) -> None:
    for name, order in (("one", (0, 1, 2)), ("other", (2, 0, 1))):
        with Results.writing(tmp_path / name) as results:
            for repetition in order:
                results.add(outcome(repetition))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def test_an_outcome_that_replaces_another_is_saved(tmp_path: Path) -> None:
    path = tmp_path / "cells.parquet"
    with Results.writing(path) as results:
        results.add(Outcome(outcome().cell, {"density_error": 0.5}))
    with Results.writing(path) as results:
        results.add(outcome())
    assert Results.read(path)[outcome().cell].series


def test_rows_with_other_values_stand_beside_each_other(tmp_path: Path) -> None:
    path = tmp_path / "mixed.parquet"
    with Results.writing(path) as results:
        results.add(outcome())
        results.add(Outcome(Cell("demo", "tmf", "1", 5, 0), {"peak_megabytes": 3.0}))
    read = Results.read(path)
    assert read[Cell("demo", "tmf", "1", 5, 0)].values == {"peak_megabytes": 3.0}
    assert "peak_megabytes" not in read[outcome().cell].values


def test_what_is_not_there_is_empty(tmp_path: Path) -> None:
    assert len(Results.read(tmp_path / "none")) == 0


def test_saved_when_interrupted(tmp_path: Path) -> None:
    path = tmp_path / "cells.parquet"

    def interrupted() -> None:
        with Results.writing(path) as results:
            results.add(outcome())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert outcome().cell in Results.read(path)


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "cells.parquet"
    with (
        Results.writing(path),
        pytest.raises(OutputError),
        Results.writing(path),
    ):
        pass
    with Results.writing(path):
        pass


def hold(path: Path, ready: multiprocessing.synchronize.Event) -> None:
    with Results.writing(path) as results:
        results.add(outcome())
        results.save()
        ready.set()
        signal.pause()


def test_a_killed_writer_leaves_what_it_saved_and_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "cells.parquet"
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    process = context.Process(target=hold, args=(path, ready))
    process.start()
    assert ready.wait(60)
    os.kill(process.pid or 0, signal.SIGKILL)
    process.join()
    with Results.writing(path) as results:
        assert outcome().cell in results
    assert {found.name for found in tmp_path.iterdir()} == {"cells.parquet"}


def test_damaged_or_foreign_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "cells.parquet"
    with Results.writing(path) as results:
        results.add(outcome())
        results.add(outcome(1))
    whole = path.read_bytes()
    table = pq.read_table(path)
    for bad in (b"", b"text", whole[:-20], whole[: len(whole) // 2]):
        path.write_bytes(bad)
        with pytest.raises(DataError):
            Results.read(path)
    changed = table.set_column(
        table.schema.get_field_index("epsilon"), "epsilon", [["4"] * table.num_rows]
    )
    for foreign in (
        table.drop_columns(["source"]),
        table.replace_schema_metadata(None),
        table.slice(1),
        changed,
    ):
        pq.write_table(foreign, path)
        with pytest.raises(DataError):
            Results.read(path)
