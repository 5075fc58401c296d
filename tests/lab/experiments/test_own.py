"""Experiments of the user's own: her data, her methods, nothing of the package edited."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from psgraph.errors import DataError, InvalidArgument, PsgraphError
from psgraph.methods import registry
from psgraph_lab.datasets import find_dataset, is_available, load_dataset
from psgraph_lab.experiments.definition import Experiment, find_experiment
from tests.cli.commands import psgraph

DEFINITION = """
epsilons = ["1"]
windows = [2]
repetitions = 1

[data.calls]
path = "calls.csv"
roster = "staff.csv"
every = "1mo"
until = 2024-03-01

[[lines]]
label = "Mine"
method = "my_own_method:Mine"
parameters = { count_share = "0.3" }
"""
METHOD = "import psgraph\n\n\nclass Mine(psgraph.TmF):\n    name = 'my-own'\n"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A definition with a data set of two months and a method beside it."""
    rows = "".join(f"{each},{each + 1},2024-0{1 + each // 20}-01\n" for each in range(40))
    (tmp_path / "calls.csv").write_text(f"u,v,time\n{rows}")
    (tmp_path / "staff.csv").write_text("id\n" + "".join(f"{each}\n" for each in range(50)))
    (tmp_path / "my_own_method.py").write_text(METHOD)
    (tmp_path / "mine.toml").write_text(DEFINITION)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(registry, "_REGISTERED", {})
    yield tmp_path / "mine.toml"
    sys.modules.pop("my_own_method", None)


def found(file: Path, *changes: tuple[str, str]) -> Experiment:
    text = DEFINITION
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    file.write_text(text)
    return find_experiment(str(file))


def test_her_data_and_her_method_become_cells(file: Path) -> None:
    experiment = found(file)
    (cell,) = experiment.cells()
    assert (experiment.name, cell.method, cell.window) == ("mine", "my-own", 2)
    assert cell.parameters == (("count_share", "0.3"),)
    assert find_dataset(cell.dataset).title == "calls"
    assert is_available(cell.dataset)
    assert [len(snapshot.roster) for snapshot in load_dataset(cell.dataset)] == [50, 50]


def test_other_data_or_another_roster_are_another_data_set(file: Path) -> None:
    (before,) = found(file).datasets
    assert found(file).datasets == (before,)
    with (file.parent / "staff.csv").open("a") as staff:
        staff.write("50\n")
    (roster,) = found(file).datasets
    with (file.parent / "calls.csv").open("a") as calls:
        calls.write("1,3,2024-02-09\n")
    (data,) = found(file).datasets
    (options,) = found(file, ('every = "1mo"', 'every = "1w"')).datasets
    assert len({before, roster, data, options}) == 4


def test_one_command_runs_it_in_a_worker_process(file: Path) -> None:
    run = ("experiment", "run", file.name, "--out", "results", "--workers", "1", "--json")
    done = psgraph(*run, cwd=file.parent)
    assert done.code == 0, done.err
    (made,) = json.loads(done.out)["experiments"]
    assert (made["ran"], made["kept"]) == (1, 0)
    out = file.parent / "results"
    assert "| Mine |" in (out / "mine.md").read_text()
    assert not (out / "README.md").exists()  # the index of the paper's experiments


WRONG = [
    (("repetitions = 1", "repetitons = 1"), "'repetitons'"),
    (('every = "1mo"', 'evry = "1mo"'), "'evry'"),
    (('label = "Mine"', 'lable = "Mine"'), "'lable'"),
    (('["1"]', "[1]"), "epsilon 1 "),
    (('["1"]', '["-1"]'), "-1"),
    (('path = "calls.csv"', ""), r"\[data.calls\].* path"),
    (('"my_own_method:Mine"', '"my_own_method:Nothing"'), "my_own_method:Nothing"),
    (('"my_own_method:Mine"', '"nowhere:Mine"'), "nowhere:Mine"),
    (('"my_own_method:Mine"', '"nonsense"'), "'nonsense'"),
    (("count_share", "nonsense"), "my-own.*\n.*count_share"),
    (("[[lines]]", "[[rows]]"), "'rows'"),
    (("[data.calls]", "[data.calls"), "TOML.*line 6"),
    (("epsilons", 'axis = "colour"\nepsilons'), "'colour'"),
    (("epsilons", 'metrics = ["beauty"]\nepsilons'), "'beauty'"),
]


@pytest.mark.parametrize(("change", "text"), WRONG)
def test_a_wrong_definition_is_refused_before_anything_runs(
    file: Path, change: tuple[str, str], text: str
) -> None:
    with pytest.raises(PsgraphError, match=text):
        found(file, change)


def test_missing_files_are_named(file: Path) -> None:
    with pytest.raises(DataError):
        find_experiment(str(file.parent / "other.toml"))
    (file.parent / "staff.csv").unlink()
    with pytest.raises(DataError, match="'calls'"):
        found(file)


def test_names_of_the_package_are_not_taken_over(file: Path) -> None:
    other = file.with_name("window.toml")
    other.write_text(DEFINITION)
    with pytest.raises(InvalidArgument):
        find_experiment(str(other))
    (file.parent / "my_own_method.py").write_text(METHOD.replace("my-own", "psgraph"))
    with pytest.raises(InvalidArgument, match="'psgraph'"):
        found(file)
