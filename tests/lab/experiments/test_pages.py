"""Pages: every number of the summary is there, and what is missing is said."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psgraph.errors import DataError
from psgraph_lab.experiments.definition import Experiment, experiment_names, find_experiment
from psgraph_lab.experiments.labels import found_metric
from psgraph_lab.experiments.markdown import Markdown, plain_blocks
from psgraph_lab.experiments.pages import write_index, write_pages
from psgraph_lab.experiments.recovery import recovery_tables
from psgraph_lab.experiments.scorecard import point_tables, score_tables
from psgraph_lab.experiments.summary import Curve, summarise
from psgraph_lab.experiments.tables import ablation_table, find_published, missing_notes, tables_of

from .made_up import made_up

DRAWN = [name for name in experiment_names() if name not in ("calibration", "claims")]
FEW = ("as-caida", "wiki-talk")
FACTS = {"psgraph": "1.2.3", "machine": "made <up> | here"}


def small(name: str) -> tuple[Experiment, list[Curve]]:
    experiment = find_experiment(name)
    few = {"plus-jumps": [f"{dataset}:rise" for dataset in FEW], "kinds": ["film-ratings", "trips"]}
    few["people"] = ["film-ratings:people-2", "trips:people-2"]
    experiment = experiment.narrowed(datasets=few.get(name, FEW))
    return experiment, summarise(experiment, made_up(experiment))


class Reader(HTMLParser):
    """The tables of a page, and everything it refers to."""

    def __init__(self) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self.references: list[str] = []
        self.tags: set[str] = set()
        self._open = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.references += [v or "" for k, v in attrs if k in ("href", "src", "xlink:href")]
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
            self._open = True

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self._open = False

    def handle_data(self, data: str) -> None:
        if self._open:
            self.tables[-1][-1][-1] += data


def read_html(path: Path) -> Reader:
    reader = Reader()
    reader.feed(path.read_text())
    return reader


def read_markdown(path: Path) -> list[list[list[str]]]:
    """The tables, with escapes taken away."""
    tables: list[list[list[str]]] = []
    inside = False
    for line in path.read_text().splitlines():
        if line.startswith("| "):
            if not inside:
                tables.append([])
            cells = re.split(r"(?<!\\) \| ", line.removeprefix("| ").removesuffix(" |"))
            if not set(line) <= set("|:- "):
                tables[-1].append([re.sub(r"\\(.)", r"\1", cell) for cell in cells])
        inside = line.startswith("| ")
    return tables


@pytest.mark.parametrize("name", DRAWN)
def test_both_pages_hold_the_same_tables_and_nothing_from_outside(
    name: str, tmp_path: Path
) -> None:
    experiment, curves = small(name)
    there = list(dict.fromkeys(curve.dataset for curve in curves))
    text, page = write_pages(
        experiment,
        curves,
        tmp_path,
        command=f"psgraph experiment run {name}",
        facts=FACTS,
        html=True,
    )
    assert (text.name, page.name) == (f"{name}.md", f"{name}.html")
    assert {path.suffix for path in tmp_path.iterdir()} == {".md", ".html", ".png", ".svg"}
    html = read_html(page)
    assert html.tables == read_markdown(text)
    tables = tables_of if experiment.view == "lines" else point_tables
    wanted = recovery_tables(experiment, curves) if experiment.view == "jumps" else []
    wanted += score_tables(experiment, curves) if experiment.subject else []
    wanted += [table for dataset in there for table in tables(experiment, curves, dataset)]
    if (parts := ablation_table(experiment)) is not None:
        wanted.insert(0, parts)
    assert html.tables == [[list(row) for row in (table.columns, *table.rows)] for table in wanted]
    assert not any(each.startswith(("http", "//")) for each in html.references)
    assert "script" not in html.tags
    for content in (text.read_text(), page.read_text()):
        assert f"psgraph experiment run {name}" in content
        assert "1.2.3" in content
        assert "not private" in content
        assert "stand-in for Reddit" in content or "wiki-talk" not in there
        assert "://" not in content
        assert experiment.paper in content


def test_cells_are_the_means_and_deviations_of_the_summary() -> None:
    experiment, curves = small("end-to-end")
    for dataset in FEW:
        for name, table in zip(
            experiment.metrics, tables_of(experiment, curves, dataset), strict=True
        ):
            unit = 100 if found_metric(name).is_share else 1
            here = [curve for curve in curves if curve.dataset == dataset]
            assert table.columns[1:-1] == tuple(f"ε = {x:g}" for x in here[0].x)
            for curve, row in zip(here, table.rows, strict=True):
                assert (row[0], row[-1]) == (curve.label, str(curve.repetitions[0]))
                for cell, mean, std in zip(
                    row[1:-1], curve.mean[name], curve.std[name], strict=True
                ):
                    shown = [float(part.replace(",", "")) for part in cell.split(" ± ")]
                    exact = [unit * mean, unit * std]
                    assert shown == pytest.approx(exact, rel=0, abs=0.006 * max(exact))


def test_every_timestamp_has_its_mean() -> None:
    experiment, curves = small("timestamps")
    first, *_ = tables_of(experiment, curves, "wiki-talk")
    assert [row[0] for row in first.rows] == [str(time) for time in range(24)]
    assert first.columns[4] == "PrivHRG (3 runs)"
    mean = next(c for c in curves if c.dataset == "wiki-talk" and c.method == "tmf").mean
    assert [float(row[2]) for row in first.rows] == pytest.approx(
        100 * mean["eigenvector_overlap"], abs=0.06
    )


def test_fewer_repetitions_are_said(tmp_path: Path) -> None:
    experiment, curves = small("cost")
    text, page = write_pages(experiment, curves, tmp_path, command="x", facts={}, html=True)
    said = "PrivHRG has fewer than 3 repetitions: 1 on As-caida and Wiki-talk."
    assert said in text.read_text()
    assert said in page.read_text()
    assert "TmF has fewer" not in text.read_text()


def test_all_repetitions_leave_nothing_to_say() -> None:
    experiment, _ = small("judgement")
    curves = summarise(experiment, made_up(experiment))
    assert list(missing_notes(experiment, curves)) == ["Every point is the mean of 10 repetitions."]


def test_what_is_missing_is_said() -> None:
    experiment = find_experiment("end-to-end").narrowed(datasets=("as-733", *FEW), repetitions=2)
    outcomes = {
        cell: outcome
        for cell, outcome in made_up(experiment).items()
        if cell.dataset != "as-733"
        and cell.method != "privhrg"
        and (cell.dataset, cell.method) != ("wiki-talk", "der")
        and (cell.method, cell.epsilon, cell.dataset) != ("tmf", "4", "as-caida")
        and (cell.method, cell.epsilon, cell.repetition) != ("ldpgen", "1", 1)
    }
    curves = summarise(experiment, outcomes)
    assert list(missing_notes(experiment, curves)) == [
        "Every point is the mean of 2 repetitions unless stated otherwise.",
        "LDPGen has fewer than 2 repetitions: 1 to 2 on As-caida and Wiki-talk.",
        "There are no results for As-733.",
        "Not run: PrivHRG.",
        "DER was not run on Wiki-talk.",
        "TmF has 7 of 8 points on As-caida.",
    ]
    table = tables_of(experiment, curves, "as-caida")[0]
    (tmf,) = (row for row in table.rows if row[0] == "TmF")
    assert tmf[-2] == "–"
    (ldpgen,) = (row for row in table.rows if row[0] == "LDPGen")
    assert ["±" in cell for cell in ldpgen[1:-1]] == [True, False, *[True] * 6]


def test_the_papers_numbers_stand_beside_ours() -> None:
    experiment, curves = small("cost")
    seconds, peak, added = tables_of(experiment, curves, "as-caida")
    rows = {row[0]: row for row in seconds.rows}
    assert seconds.columns == ("", "here", "÷ PSGraph", "the paper", "÷ PSGraph", "runs")
    assert rows["PrivHRG"][3:] == ("270,312", "218 ×", "1")
    assert rows["PSGraph"][2] == rows["PSGraph"][4] == "1 ×"
    assert {row[0]: row[3] for row in peak.rows}["DER"] == "7,340"
    assert "the paper" not in added.columns
    assert all("the paper" not in table.columns for table in tables_of(experiment, curves, FEW[1]))
    for method in ("psgraph", "tmf", "der", "privhrg", "ldpgen", "privgraph"):
        for dataset in ("as-733", "as-caida", "cit-hepph", "reddit"):
            assert find_published("seconds", method, dataset)


def test_ratios_need_a_psgraph_to_compare_with() -> None:
    experiment, curves = small("cost")
    curves = [curve for curve in curves if curve.method != "psgraph"]
    assert {row[2] for row in tables_of(experiment, curves, "as-caida")[0].rows} == {"–"}


def test_the_components_of_every_ablation() -> None:
    table = ablation_table(find_experiment("components"))
    assert table is not None
    assert [row[1:] for row in (table.columns, *table.rows)] == [
        ("fusion", "post-processing"),
        ("×", "×"),
        ("✓", "×"),
        ("×", "✓"),
        ("✓", "✓"),
    ]
    assert ablation_table(find_experiment("judgement")) is None


def test_a_reading_goes_onto_both_pages_and_is_no_markup_in_html(tmp_path: Path) -> None:
    experiment, curves = small("scalability")
    reading = "TmF is **fast** <b>\nand simple.\n\n- one\n- `two`"
    text, page = write_pages(
        experiment,
        curves,
        tmp_path,
        command="a <b> `c`",
        facts={"<i>": "|x|"},
        reading=reading,
        html=True,
    )
    assert reading in text.read_text()
    html = page.read_text()
    assert "<p>TmF is fast &lt;b&gt; and simple.</p>" in html
    assert "<li>one</li><li>two</li>" in html
    assert "a &lt;b&gt; `c`" in html
    assert "<i>" not in html
    assert r"- **\<i\>**: \|x\|" in text.read_text()


def test_nothing_to_show_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="psgraph experiment run window"):
        write_pages(find_experiment("window"), [], tmp_path, command="x", facts={})
    assert not list(tmp_path.iterdir())


def test_a_large_drawing_goes_onto_the_page_as_pixels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("psgraph_lab.experiments.pages._LARGEST_DRAWING", 10)
    experiment, curves = small("scalability")
    _, page = write_pages(experiment, curves, tmp_path, command="x", facts={}, html=True)
    html = page.read_text()
    assert "<svg" not in html
    assert "data:image/png;base64," in html


def test_the_index_leads_to_what_is_there(tmp_path: Path) -> None:
    experiment, curves = small("scalability")
    write_pages(experiment, curves, tmp_path, command="x", facts={}, html=True)
    (tmp_path / "claims.md").write_text("…")
    experiments = [find_experiment(name) for name in experiment_names()]
    text = write_index(tmp_path, experiments, html=True).read_text()
    html = read_html(tmp_path / "index.html")
    assert [each for each in html.references if each.endswith(".html")] == ["scalability.html"]
    assert re.findall(r"^## \[.*\]\((.*)\)$", text, re.MULTILINE) == ["scalability.md", "claims.md"]
    assert "Not run yet: end-to-end, judgement" in text
    assert not any(each.startswith("http") for each in html.references)


@given(st.lists(st.text(max_size=12), min_size=1, max_size=4))
def test_any_text_stays_inside_its_cell(cells: list[str]) -> None:
    page = Markdown("title")
    page.table([f"c{place}" for place in range(len(cells))], [cells])
    *_, marks, row, end = page.markdown().split("\n")
    assert end == ""
    assert row.startswith("| ")
    assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", row)) == len(marks.split("|")) - 1


@given(st.text(alphabet="ab *`_-[]()\n#<", max_size=60))
def test_any_reading_is_taken(text: str) -> None:
    for block in plain_blocks(text):
        for line in [block] if isinstance(block, str) else block:
            assert "\n" not in line
