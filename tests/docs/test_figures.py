"""A sample of the figures in the documents, computed again."""

from __future__ import annotations

import json
import re
import shlex
from fractions import Fraction
from math import ceil, exp
from pathlib import Path
from runpy import run_path

import pytest
from click.testing import CliRunner

import psgraph as pg

ROOT = Path(__file__).parents[2]
PLANS = {
    "docs/how-to/choose-epsilon-and-window.md": "psgraph plan --nodes 10000 --mean-degree 12",
    "docs/tutorials/call-records.md": "psgraph plan --nodes 1000 --mean-degree 9",
}


def text(name: str) -> str:
    """A document as one line."""
    return " ".join((ROOT / name).read_text().split())


# ---- noise: `psgraph plan` ----


@pytest.mark.parametrize("page", PLANS)
def test_the_plan_that_is_shown_is_what_the_command_prints(page):
    from psgraph.cli import root

    after = (ROOT / page).read_text().partition(PLANS[page])
    arguments = shlex.split(after[1] + after[2].partition("\n")[0])[1:]
    shown = re.search(r"^For a graph with.*?(?=^```$)", after[2], re.MULTILINE | re.DOTALL)
    assert shown is not None
    lines = [line.strip() for line in shown[0].splitlines() if line.strip()]
    assert len(lines) > 9
    printed = CliRunner().invoke(root, arguments).output
    missing = [line for line in lines if line not in printed]
    assert not missing, "\n".join([*missing, "printed:", printed])


def test_the_noise_in_the_readme():
    found = pg.plan(pg.WEventPrivacy("1", window=5), nodes=10_000, method="psgraph-plus")
    scales = {
        what: [row.scale for row in found.rows if row.counts == what]
        for what in ("degree", "edges")
    }
    shown = re.search(
        r"a degree is off by (\d+) to (\d+), depending on the timestamp, "
        r"and the number of edges by (\d+)\.",
        text("README.md"),
    )
    assert shown is not None
    computed = (min(scales["degree"]), max(scales["degree"]), max(scales["edges"]))
    assert tuple(map(int, shown.groups())) == tuple(int(value + 0.5) for value in computed)


# ---- ε and w in words ----


def test_how_long_ties_and_windows_are():
    page = (ROOT / "docs/how-to/choose-epsilon-and-window.md").read_text()
    rows = re.findall(r"^\| (\d+) (months|days) \| \2 \| (\d+) \| (\d*)ε \|$", page, re.MULTILINE)
    assert len(rows) == 4
    for lifetime, _, window, factor in rows:
        assert ceil(Fraction(int(lifetime), int(window))) == int(factor or 1)


def test_the_factors_of_the_promise():
    page = text("docs/explanation/promise.md")
    shown = re.search(
        r"At ε = 0.1 the factor is ([\d.]+), at ε = 1 it is ([\d.]+), at ε = 4 it is ([\d.]+)\.",
        page,
    )
    assert shown is not None
    assert shown.groups() == (f"{exp(0.1):.2f}", f"{exp(1):.2f}", f"{exp(4):.1f}")
    after = [100 * exp(epsilon) / (exp(epsilon) + 1) for epsilon in (1, 4, 8)]
    said = "at most {:.1f} % sure at ε = 1, {:.1f} % at ε = 4 and {:.2f} % at ε = 8"
    assert said.format(*after) in page


# ---- the demo stream ----


def test_the_nodes_and_edges_of_the_demo():
    stream = pg.demo_stream()
    nodes = len(stream[-1].roster)
    assert f"{nodes:,} people" in text("docs/tutorials/first-stream.md")
    pairs = {edge for snapshot in stream for edge in snapshot.to_edges()}
    counts = f"{nodes:,} / {len(pairs):,} / {len(stream)}"
    assert f"messages in a fictional company | | {counts} |" in text("docs/reference/datasets.md")


def test_the_table_of_methods_in_the_tutorial():
    """The rows of one method at one budget, run again; another sampler may move them a little."""
    page = (ROOT / "docs/tutorials/compare-methods.md").read_text()
    table = page.partition("metric                     method")[2].partition("```")[0]
    shown = [float(line.split()[-1]) for line in table.splitlines() if " tmf " in line]
    stream = pg.demo_stream(nodes=600, timestamps=6)
    found = pg.evaluate(stream, methods=["tmf"], epsilons=["2"], window=3, repeats=2, seed=1)
    means = {row["metric"]: row["mean"] for row in found.summary()}
    metrics = ("eigenvector_overlap", "density_error", "degree_divergence_smoothed")
    assert shown == pytest.approx([means[metric] for metric in metrics], rel=0.1, abs=0.06)


# ---- files ----


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    out = tmp_path_factory.mktemp("figures") / "releases"
    stream = pg.demo_stream(nodes=1000, timestamps=2)
    return pg.publish(stream, epsilon=2, window=6, method="tmf", out=out), out


def test_the_fields_of_a_certificate_are_those_of_the_reference(published):
    """Rows that begin with "only" are about fields that this certificate need not have."""
    _, out = published
    content = json.loads((out / "000001.json").read_text())
    spent = content.pop("spent")
    page = (ROOT / "docs/reference/files.md").read_text()
    table = page.partition("## The certificate")[2].partition("Epsilons are exact")[0]
    rows = re.findall(r"^\| (`.+?`) \| (only)?", table, re.MULTILINE)
    named = {
        name: bool(optional) for cell, optional in rows for name in re.findall(r"`([\w.]+)`", cell)
    }
    fields = set(content) | {f"spent.{name}" for name in spent}
    assert fields <= set(named)
    assert {name for name, optional in named.items() if not optional} <= fields


def test_the_size_of_a_release(published):
    """A similar stream of about as many edges; bytes for an edge, within a factor of two."""
    releases, out = published
    low, high = re.search(
        r"about 4,500 edges is a Parquet file of (\d+) to (\d+) kB",
        text("docs/tutorials/call-records.md"),
    ).groups()  # type: ignore[union-attr]
    edges = releases[0].certificate.edges
    per_edge = (out / "000000.parquet").stat().st_size / edges
    assert int(low) / 2 < 4.5 * per_edge < 2 * int(high)


# ---- the audit ----


def test_the_number_of_deliberate_bugs():
    from psgraph_lab.mutants import MUTANTS

    number = len(MUTANTS)
    assert f"each audit ends with {number} deliberate privacy bugs" in text("docs/audit/README.md")


def test_the_page_of_the_audit_has_the_figures_of_its_file() -> None:
    written = run_path(str(ROOT / "benchmarks/audit.py"))["written"]
    page = (ROOT / "docs/audit/README.md").read_text()
    found = json.loads((ROOT / "docs/audit/audit.json").read_text())
    assert written(page, found) == page


def test_the_table_of_the_front_page_has_the_results_of_the_experiments() -> None:
    plus, windows, readme = (
        (ROOT / name).read_text()
        for name in ("docs/results/plus.md", "docs/results/plus-windows.md", "README.md")
    )
    scorecard = re.search(r"better in (\d+ of \d+) cells .* standard errors in (\d+)\.", plus)
    assert scorecard is not None
    front = text("README.md")
    assert f"in {scorecard[1]} cells, and clearly worse" in front
    assert f"errors) in {scorecard[2]}." in front
    runs = plus[plus.index("<summary>As-733<") :]
    longer = windows[windows.index("### As-733") :]
    rows = re.findall(r"^\| (\D+) [↑↓], (?:%|nats) \|(.*)\|$", readme, re.MULTILINE)
    assert len(rows) == 6
    for metric, cells in rows:
        *each, last = ([part.strip() for part in cell.split("→")] for cell in cells.split("|"))
        for epsilon, (psgraph, ours) in zip(("0.5", "1", "4"), each, strict=True):
            table = runs[runs.index(f"**ε = {epsilon}**") :]
            assert re.search(rf"\| {metric}, \S+ \| {ours} ±.*\| {psgraph} ±", table[:1500])
        table = longer[longer.index(f"**{metric}, ") :].splitlines()[4:6]
        assert [row.split("|")[5].split()[0] for row in table] == [last[1], last[0]]
