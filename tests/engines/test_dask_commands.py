"""Every command that publishes takes ``--engine`` and ``--scheduler``, with the same errors."""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Callable
from importlib import util
from pathlib import Path
from typing import Any

import pytest

from psgraph import publish as publish_stream
from psgraph.cli import run
from psgraph.engines.dask import DaskEngine, connection
from psgraph.engines.dask.connection import UnencryptedCluster
from psgraph.errors import EngineError, install_line
from psgraph.publication.ledger import Ledger
from psgraph.publication.locations import ledger_of
from psgraph.stores import new_store
from tests.engines.cluster import cluster_with_worker, random_snapshot, with_parts

TERMS = ("--epsilon", "4", "--window", "2", "--method", "psgraph", "--seed", "1")
NOWHERE = "tcp://127.0.0.1:9"


def publish(project: Path, out: str, *options: str) -> int:
    return run(["publish", "first", *TERMS, "--out", out, *options])


def resume(project: Path, out: str, *options: str) -> int:
    if not (project / out).exists():
        assert publish(project, out) == 0
    return run(["resume", out, "both", *options])


def watch(project: Path, out: str, *options: str) -> int:
    inbox = ("inbox", "--once", "--settle", "0", "--roster", "nodes.csv")
    return run(["watch", *inbox, *TERMS, "--out", out, *options])


Command = Callable[..., int]
COMMANDS = pytest.mark.parametrize("command", [publish, resume, watch])


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stores of one and of two timestamps, and an inbox; also the working directory."""
    snapshots = [random_snapshot(1), random_snapshot(2)]
    for name, number in (("first", 1), ("both", 2)):
        with new_store(tmp_path / name, part_nodes=16) as writer:
            for snapshot in snapshots[:number]:
                writer.add(snapshot)
    (tmp_path / "inbox").mkdir()
    rows = "".join(f"{u},{v}\n" for u, v in snapshots[0].to_edges())
    (tmp_path / "inbox" / "2024-01-01.csv").write_text(f"u,v\n{rows}")
    (tmp_path / "nodes.csv").write_text("id\n" + "".join(f"{node}\n" for node in range(90)))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def charged(out: Path) -> int:
    if not ledger_of(out).exists():
        return 0
    with Ledger(ledger_of(out), writing=False) as ledger:
        return ledger.sealed


def refused(command: Command, project: Path, *options: str) -> int:
    """Run a command that fails; its exit code. Nothing is charged."""
    before = 1 if command is resume else 0
    code = command(project, "out", *options)
    assert charged(project / "out") == before
    return code


def files(out: Path) -> dict[str, bytes]:
    return {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*.*")}


def test_every_command_publishes_the_same_on_a_running_cluster(project: Path) -> None:
    elsewhere = project / "elsewhere"
    elsewhere.mkdir()
    with cluster_with_worker(elsewhere) as (address, _):
        options = ("--engine", "dask", "--scheduler", address)
        for command in (publish, resume, watch):
            assert command(project, command.__name__, *options) == 0
    for command in (publish, resume, watch):
        found = files(project / command.__name__)
        shutil.rmtree(project / command.__name__)
        shutil.rmtree(ledger_of(project / command.__name__).parent)
        assert command(project, command.__name__) == 0
        assert files(project / command.__name__) == found


def test_an_unencrypted_cluster_is_told_on_the_terminal_and_in_python(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    elsewhere = project / "elsewhere"
    elsewhere.mkdir()
    with cluster_with_worker(elsewhere) as (address, _):
        options = ("--engine", "dask", "--scheduler", address)
        with warnings.catch_warnings():
            warnings.simplefilter("error", UnencryptedCluster)
            DaskEngine(address).close()
        monkeypatch.setattr(connection, "is_loopback", lambda _host: False)
        with pytest.warns(UnencryptedCluster) as caught:
            DaskEngine(address).close()
        assert caught[0].filename == __file__
        assert publish(project, "out", *options) == 0
    assert capsys.readouterr().err.count(f"sent to {address} unencrypted") == 1


def test_publishing_with_one_call_takes_an_engine(project: Path, dask_engine: DaskEngine) -> None:
    terms: Any = {"epsilon": 4, "window": 2, "method": "psgraph", "seed": 1}
    engine = with_parts(dask_engine, 128)
    publish_stream("first", out="out", engine=engine, **terms)
    assert engine.statistics.calls
    assert publish(project, "other") == 0
    assert files(project / "out") == files(project / "other")


# ---- errors: nothing published, nothing charged ----


@COMMANDS
def test_a_missing_extra_is_told_with_the_install_line(
    command: Command, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    find = util.find_spec
    monkeypatch.setattr(
        "psgraph._runtime.extras.find_spec",
        lambda name: None if name == "distributed" else find(name),
    )
    assert refused(command, project, "--engine", "dask") == 1
    assert install_line("dask") in capsys.readouterr().err


@COMMANDS
def test_an_unreachable_scheduler_leaves_nothing_behind(
    command: Command, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(connection, "CONNECT_SECONDS", 0.5)
    assert refused(command, project, "--engine", "dask", "--scheduler", NOWHERE) == 1
    assert f"no Dask scheduler answers at '{NOWHERE}'" in capsys.readouterr().err
    assert command is resume or not (project / "out").exists()


@COMMANDS
def test_a_scheduler_needs_the_engine(command: Command, project: Path, capsys: Any) -> None:
    assert refused(command, project, "--scheduler", NOWHERE) == 2
    assert "--scheduler is for --engine dask" in capsys.readouterr().err


def test_workers_that_see_other_files_are_refused(
    project: Path, dask_engine: DaskEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "file").write_text("the same for all")
    dask_engine.check_access(Path("file"), "Share it.")
    monkeypatch.setattr(connection, "_digest", lambda _: os.getpid())
    with pytest.raises(EngineError, match=str(project)):
        dask_engine.check_access(Path("file"), "Share it.")
