"""The example notebooks run, and what they show is fit to commit.

`make notebooks` executes them in full and stores their outputs; here they run with small
parameters. The one that needs PyTorch runs in `make notebooks` only.
"""

from __future__ import annotations

import json
import re
import runpy
import socket
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pyarrow.parquet as pq
import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
NEEDS_PYTORCH = {"graph-neural-network"}
LARGEST = 300_000  # bytes, with outputs

MACHINE = re.compile(r"(?<![\w.~])/(?:home|root|Users|work|mnt|opt|srv|tmp|var|usr)/\w")


def name(path: Path) -> str:
    return path.stem


def cells(path: Path, kind: str) -> list[dict[str, Any]]:
    return [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == kind]


def text(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def test_there_are_six_notebooks():
    assert len(NOTEBOOKS) == 6


@pytest.mark.parametrize(
    "path", [path for path in NOTEBOOKS if path.stem not in NEEDS_PYTORCH], ids=name
)
def test_a_notebook_runs(path):
    runpy.run_path(str(EXAMPLES / "run.py"))["execute"](path, quick=True)


def test_an_error_in_a_cell_is_an_error_of_the_run(tmp_path):
    broken = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 / 0")])
    nbformat.write(broken, tmp_path / "broken.ipynb")
    with pytest.raises(Exception, match="ZeroDivisionError"):
        runpy.run_path(str(EXAMPLES / "run.py"))["execute"](tmp_path / "broken.ipynb")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name)
def test_committed_outputs_come_from_one_run_without_errors(path):
    code = cells(path, "code")
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    kinds = {output["output_type"] for cell in code for output in cell["outputs"]}
    assert "error" not in kinds
    assert any("image/png" in out.get("data", ()) for cell in code for out in cell["outputs"])
    warnings = [out for cell in code for out in cell["outputs"] if out.get("name") == "stderr"]
    assert not warnings


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name)
def test_a_notebook_names_no_machine(path):
    found = MACHINE.search(path.read_text())
    assert found is None, found
    host = re.compile(rf"(?<![\w-]){re.escape(socket.gethostname())}(?![\w-])")
    outputs = [
        {kind: shown for kind, shown in out.get("data", out).items() if kind != "image/png"}
        for cell in cells(path, "code")
        for out in cell["outputs"]
    ]
    assert not host.search(json.dumps(outputs))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name)
def test_a_notebook_is_small(path):
    assert path.stat().st_size <= LARGEST


@pytest.mark.parametrize("path", [*NOTEBOOKS, EXAMPLES / "README.md"], ids=name)
def test_links_of_the_examples_resolve(path):
    prose = (
        path.read_text()
        if path.suffix == ".md"
        else "\n".join(text(cell) for cell in cells(path, "markdown"))
    )
    links = [link for link in re.findall(r"\]\(([^)\s]+)\)", prose) if ":" not in link]
    missing = [link for link in links if not (EXAMPLES / link.partition("#")[0]).exists()]
    assert not missing, missing


def test_the_readme_lists_every_notebook_and_nothing_else():
    listed = re.findall(r"\]\(([\w-]+\.ipynb)\)", (EXAMPLES / "README.md").read_text())
    assert sorted(listed) == [path.name for path in NOTEBOOKS]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name)
def test_prose_is_plain_english(path):
    hits = runpy.run_path(str(ROOT / ".ci/house_rules.py"))["hits"]
    found = [hit for cell in cells(path, "markdown") for hit in hits(text(cell))]
    assert not found, found


def test_the_contacts_are_what_their_script_makes(tmp_path):
    made = runpy.run_path(str(EXAMPLES / "data/make_contacts.py"))
    made["write"](tmp_path)
    assert (tmp_path / "people.csv").read_text() == (EXAMPLES / "data/people.csv").read_text()
    again, committed = (
        pq.read_table(folder / "contacts.parquet") for folder in (tmp_path, EXAMPLES / "data")
    )
    for column in "tuv":
        assert np.array_equal(again[column].to_numpy(), committed[column].to_numpy())


def test_the_data_are_small():
    files = [path for path in (EXAMPLES / "data").iterdir() if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= 200_000
