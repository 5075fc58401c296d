"""``psgraph publish`` and ``psgraph compare`` on every form of input."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from contextlib import suppress
from io import StringIO
from pathlib import Path

import click
import numpy as np
import pyarrow.parquet as pq
import pytest

from psgraph.errors import OutputError, TermsChanged
from psgraph.publication.locations import ledger_of

from . import commands
from .commands import PSGRAPH, psgraph, psgraph_here, rows_of, small_stream, write_csv
from .plugin import install

GUARANTEE = ("--epsilon", 60, "--window", 3, "--yes-large-epsilon")
PROMISE = {"promise", "private", "provides_epsilon"}
KEYS = PROMISE | {
    "timestamps",
    "new",
    "nodes",
    "edges",
    "first",
    "written_again",
    "last",
    "repartitions",
    "seconds",
    "unit",
    "epsilon",
    "window",
    "ledger",
    "window_in_time",
    "held_back",
    "out",
}
PHASES = {"total", "read", "communities", "perturbation", "reconstruction", "write"}


def released(directory: Path) -> dict[str, bytes]:
    """Names and bytes of graphs and certificates; the ledger holds a random key."""
    return {path.name: path.read_bytes() for path in sorted(directory.glob("[0-9]*.*"))}


@pytest.mark.parametrize("form", ["csv", "parquet", "directory", "events"])
def test_publish_and_compare(form: str, inputs: dict[str, Path], tmp_path: Path) -> None:
    reading = (inputs[form], "--roster", inputs["roster"])
    reading += ("--every", "1mo", "--until", "2024-04-01") if form == "events" else ()
    out = tmp_path / "new" / "releases"
    done = psgraph_here(
        "publish", *reading, *GUARANTEE, "--method", "psgraph", "--out", out, "--json"
    )
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert set(report) == KEYS
    assert set(report["seconds"]) >= PHASES
    assert report["seconds"]["total"] >= max(report["seconds"].values())
    assert (report["timestamps"], report["nodes"], report["window"]) == (3, 60, 3)
    assert (report["epsilon"], report["out"]) == ("60", str(out))
    assert 1 <= report["repartitions"] <= 3

    stems = [f"{number:06d}" for number in range(3)]
    assert sorted(path.stem for path in out.glob("*.json")) == stems
    edges = 0
    for stem, original in zip(stems, small_stream(), strict=True):
        table = pq.read_table(out / f"{stem}.parquet")
        assert table.column_names == ["u", "v"]
        u, v = (np.asarray(table[name]) for name in "uv")
        assert (u < v).all()
        assert ((u >= 0) & (v < 60)).all()
        certificate = json.loads((out / f"{stem}.json").read_text())
        assert certificate["private"] is True
        assert certificate["edges"] == u.size
        distinct = {(min(edge), max(edge)) for edge in original}
        assert abs(u.size - len(distinct)) < 5_000  # noise of scale 100 on the count
        edges += u.size
    assert report["edges"] == edges

    compared = psgraph_here("compare", *reading[:1], out, *reading[1:], "--json")
    assert compared.code == 0, compared.err
    comparison = json.loads(compared.out)
    assert comparison["curator_only"] is True
    assert comparison["timestamps"] == 3
    for row, stem, original in zip(comparison["rows"], stems, small_stream(), strict=True):
        true = len({(min(edge), max(edge)) for edge in original})
        drawn = pq.read_metadata(out / f"{stem}.parquet").num_rows
        assert row["density_error"] == pytest.approx(abs(drawn - true) / true)


def test_forms_of_one_stream_give_the_same_graphs(inputs: dict[str, Path], tmp_path: Path) -> None:
    graphs = []
    for form, source in (
        ("csv", inputs["csv"]),
        ("directory", inputs["directory"]),
        ("glob", inputs["directory"] / "day*.txt"),
    ):
        arguments = (source, "--roster", inputs["roster"], *GUARANTEE, "--seed", 5)
        done = psgraph_here("publish", *arguments, "--out", tmp_path / form)
        assert done.code == 0, done.err
        files = released(tmp_path / form)
        graphs.append({name: data for name, data in files.items() if name.endswith("parquet")})
    assert len(graphs[0]) == 3
    assert graphs[0] == graphs[1] == graphs[2]


def test_a_seed_reproduces_every_byte_and_taints_the_certificates(
    inputs: dict[str, Path], tmp_path: Path
) -> None:
    common = (inputs["parquet"], "--roster-from-edges", *GUARANTEE)
    for name, seed in (("a", 8), ("b", 8), ("c", 9)):
        done = psgraph_here("publish", *common, "--seed", seed, "--out", tmp_path / name)
        assert done.code == 0, done.err
        assert "NO, for research only" in done.out
        assert "No privacy is promised" in " ".join(done.out.split())
    first, second, other = (released(tmp_path / name) for name in "abc")
    assert len(first) == 6
    assert first == second
    assert first["000000.parquet"] != other["000000.parquet"]
    certificate = json.loads(first["000002.json"])
    assert certificate["private"] is False
    assert "not protected" in certificate["roster"]


def test_the_same_command_again_hands_back_what_is_published(
    inputs: dict[str, Path], tmp_path: Path
) -> None:
    command = ("publish", inputs["csv"], "--roster", inputs["roster"], *GUARANTEE)
    command += ("--out", tmp_path / "out", "--json")
    assert psgraph(*command).code == 0
    before = released(tmp_path / "out")
    assert psgraph(*command).code == 0
    assert released(tmp_path / "out") == before


def test_parameters_reach_the_certificate(inputs: dict[str, Path], tmp_path: Path) -> None:
    done = psgraph_here(
        *(
            "publish",
            inputs["csv"],
            "--roster",
            inputs["roster"],
            *GUARANTEE,
            "--method",
            "psgraph",
        ),
        *("--out", tmp_path / "out", "--set", "threshold=0.25", "--set", "fusion=False"),
        *("--set", "postprocess=false", "--set", "always_repartition=TRUE"),
        *("--set", "choice_constant=reference", "--set", "between=symmetric"),
        *("--ledger", tmp_path / "ledger", "--json"),
    )
    assert done.code == 0, done.err
    assert json.loads(done.out)["repartitions"] == 3
    certificate = json.loads((tmp_path / "out" / "000002.json").read_text())
    assert certificate["parameters"] == {
        "threshold": "0.25",
        "fusion": False,
        "postprocess": False,
        "always_repartition": True,
        "supernode_size": 20,
        "choice_constant": "reference",
        "between": "symmetric",
    }
    assert certificate["spent"]["timestamp"] == "20"
    assert (tmp_path / "ledger").exists()
    assert not ledger_of(tmp_path / "out").exists()


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_what_was_dropped_is_told_on_a_terminal_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It depends on the edges, and what goes into a pipe ends up in logs."""
    rows = [(0, 1, 2), (0, 2, 1), (0, 1, 2), (0, 3, 3), (1, 2, 3)]
    source = write_csv(tmp_path / "edges.csv", "t,u,v", rows)
    command = ("publish", source, "--roster-from-edges", *GUARANTEE, "--out")
    piped = psgraph_here(*command, tmp_path / "out")
    assert piped.code == 0, piped.err
    assert "self-loop" not in piped.text
    for path in (tmp_path / "out").glob("*.json"):
        assert "loops" not in path.read_text()
    monkeypatch.setattr(commands, "StringIO", Terminal)
    shown = psgraph_here(*command, tmp_path / "again")
    assert "1 self-loop and 2 repeated edges" in shown.err
    assert "self-loop" not in shown.out


def test_what_happened_to_rows_is_told_on_a_terminal_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Edges outside the roster, rows for a later run and lost zeros depend on private rows."""
    kept = [("1", "2", "2024-01-01"), ("2", "3", "2024-01-02")]
    more = [("1", "9", "2024-01-01"), ("01", "2", "2024-01-01"), ("1", "2", "2024-01-03")]
    roster = write_csv(tmp_path / "nodes.csv", "id", [(1,), (2,), (3,)])
    command = ("--every", "1d", "--until", "2024-01-03", "--unknown-nodes", "drop", "--seed", "1")
    command += ("--not-private", "--roster", roster, *GUARANTEE)

    def publish(name: str, rows: list[tuple[str, str, str]]) -> commands.Result:
        source = write_csv(tmp_path / "edges.csv", "u,v,time", rows)
        done = psgraph_here("publish", source, *command, "--json", "--out", tmp_path / name)
        assert done.code == 0, done.err
        return done

    fewer, piped = publish("fewer", kept), publish("piped", kept + more)
    assert "the roster decides" in fewer.err
    assert fewer.remarks.replace("fewer", "piped") == piped.remarks
    assert released(tmp_path / "fewer") == released(tmp_path / "piped")
    monkeypatch.setattr(commands, "StringIO", Terminal)
    shown = publish("shown", kept + more)
    for told in ("Dropped 1 row", "Left 1 row", "--ids text"):
        assert told in shown.err
        assert told not in shown.out


def test_nothing_but_results_in_a_pipe(inputs: dict[str, Path], tmp_path: Path) -> None:
    done = psgraph(
        *("publish", inputs["csv"], "--roster", inputs["roster"], *GUARANTEE),
        *("--out", tmp_path / "out"),
    )
    assert done.code == 0, done.err
    assert "Publishing" not in done.text
    assert "\x1b[" not in done.text
    assert "Published 3 timestamps" in done.out
    assert "Private" in done.out
    compared = psgraph("compare", inputs["csv"], tmp_path / "out", "--roster", inputs["roster"])
    assert compared.code == 0, compared.err
    assert "Curator only: contains the truth" in compared.out
    assert "±" in compared.out


def test_a_bar_on_a_terminal_and_json_beside_it(inputs: dict[str, Path], tmp_path: Path) -> None:
    terminal, end = pty.openpty()
    command = ("publish", inputs["csv"], "--roster", inputs["roster"], *GUARANTEE)
    command += ("--out", tmp_path / "out", "--json")
    with subprocess.Popen(
        [*PSGRAPH, *map(str, command)],
        stdout=subprocess.PIPE,
        stderr=end,
        env={**os.environ, "TERM": "xterm"},
    ) as process:
        os.close(end)
        shown = b""
        with suppress(OSError):  # how a terminal says that the other side has gone
            while piece := os.read(terminal, 65536):
                shown += piece
        out, _ = process.communicate()
    os.close(terminal)
    assert process.returncode == 0, shown
    assert json.loads(out)["timestamps"] == 3
    assert b"Publishing" in shown
    assert b"3/3" in shown


def test_another_method(inputs: dict[str, Path], tmp_path: Path) -> None:
    environment = install(tmp_path)
    command = ("publish", inputs["csv"], "--roster", inputs["roster"], *GUARANTEE)
    command += ("--method", "odd", "--out", tmp_path / "out")
    refused = psgraph(*command, "--set", "threshold=1.0", env=environment)
    assert refused.code == 2
    assert "threshold: there is no such parameter\nKnown parameters: none." in refused.err
    assert not (tmp_path / "out").exists()
    done = psgraph(*command, "--json", env=environment)
    assert done.code == 0, done.err
    assert json.loads((tmp_path / "out" / "000000.json").read_text())["method"] == "odd"


@pytest.mark.parametrize("method", ["tmf", "der", "privhrg", "ldpgen", "privgraph"])
def test_the_compared_methods(method: str, inputs: dict[str, Path], tmp_path: Path) -> None:
    command = ("publish", inputs["csv"], "--roster", inputs["roster"], *GUARANTEE)
    allowed = ("--not-private",) if method == "privhrg" else ()
    command += ("--method", method, *allowed)
    done = psgraph_here(*command, "--out", tmp_path / "out", "--json")
    assert done.code == 0, done.err
    certificate = json.loads((tmp_path / "out" / "000002.json").read_text())
    assert certificate["method"] == method
    assert certificate["private"] is (method != "privhrg")  # its chain is not proven


@pytest.mark.parametrize("text", ["False", "FALSE", "false", "true", "no", "0", ""])
def test_a_boolean_is_never_read_as_its_opposite(text: str) -> None:
    """`bool("False")` is true: it once turned PrivHRG's Markov chain on."""
    command = ("plan", "--nodes", 9, "--epsilon", 1, "--window", 1, "--method", "privhrg", "--json")
    done = psgraph_here(*command, "--set", f"mcmc={text}")
    if text.lower() not in ("true", "false"):
        assert done.code == 2
        assert isinstance(done.error, click.UsageError)
        assert "mcmc" in done.err
        assert repr(text) in done.err
        return
    assert done.code == 0, done.err
    assert (json.loads(done.out)["caveat"] is None) == (text != "true")


def test_parameters_of_any_method(inputs: dict[str, Path], tmp_path: Path) -> None:
    command = ("publish", inputs["csv"], "--roster", inputs["roster"], *GUARANTEE)
    command += ("--method", "tmf", "--out", tmp_path / "out")
    unknown = psgraph_here(*command, "--set", "colour=red")
    assert unknown.code == 2
    assert "count_share, filter" in unknown.err
    for wrong in ("filter", "filter=sieve", "=3"):
        assert psgraph_here(*command, "--set", wrong).code == 2
    twice = psgraph_here(*command, "--set", "filter=exact", "--set", "filter=linear")
    assert twice.code == 2
    assert isinstance(twice.error, click.UsageError)
    assert "--set filter" in twice.err
    assert not (tmp_path / "out").exists()
    settings = ("--set", "filter=linear", "--set", "count_share=1/4")
    done = psgraph_here(*command, *settings, "--not-private")
    assert done.code == 0, done.err
    certificate = json.loads((tmp_path / "out" / "000000.json").read_text())
    assert certificate["parameters"] == {"count_share": "0.25", "filter": "linear"}
    assert certificate["private"] is False
    assert certificate["provides_epsilon"] is None


def test_terms_and_directory_are_checked_before_the_input_is_read(
    inputs: dict[str, Path], tmp_path: Path
) -> None:
    command = ("publish", inputs["csv"], "--roster", inputs["roster"], *GUARANTEE)
    assert psgraph_here(*command, "--out", tmp_path / "out").code == 0
    missing = tmp_path / "missing.csv"
    other = ("publish", missing, "--roster-from-edges", "--epsilon", "7", "--window", "2")
    refused = psgraph_here(*other, "--out", tmp_path / "out")
    assert isinstance(refused.error, TermsChanged)
    assert set(refused.error.changed) >= {"epsilon"}
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "notes.txt").touch()
    refused = psgraph_here(*other, "--out", tmp_path / "taken")
    assert isinstance(refused.error, OutputError)


def test_what_the_library_warns_of_is_a_remark_and_said_once(tmp_path):
    edges = write_csv(tmp_path / "edges.csv", "t,u,v", rows_of(small_stream()))
    nodes = [(node, ("red", "blue")[node % 2]) for node in range(60)]
    roster = write_csv(tmp_path / "nodes.csv", "id,team", nodes)
    options = ("--roster", roster, "--labels", "team", "--directed", *GUARANTEE)
    done = psgraph("publish", edges, *options, "--out", tmp_path / "releases")
    said = [line for line in done.remarks.splitlines() if "labels" in line]
    assert done.code == 0
    assert len(said) == 1
    assert said[0].startswith("Warning: ")
