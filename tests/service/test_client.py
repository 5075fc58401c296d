"""The client, push and pull against a running service."""

from __future__ import annotations

import asyncio
import gzip
import inspect
import json
import time
from pathlib import Path

import pytest

import psgraph as pg
from psgraph.client import AsyncClient, Client, operations
from psgraph.client.http import Call, Steps
from psgraph.errors import (
    AccessDenied,
    DataError,
    OutputError,
    ServiceError,
    VerificationFailed,
)
from psgraph.publication.ledger.attempts import MOST_ATTEMPTS
from psgraph.publication.publisher import Publisher
from psgraph.service.schemas import Accepted, TimestampView
from tests.cli.commands import psgraph, psgraph_here
from tests.service.scenario import as_csv, as_parquet, edges, new_stream, post, roster
from tests.service.server import Server, tree


@pytest.fixture
def curator(server: Server) -> Client:
    return Client(server.address, server.token)


@pytest.fixture
def analyst(server: Server, tokens: dict[str, str]) -> Client:
    return Client(server.address, tokens["analyst"])


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    file = tmp_path / "snapshot.csv"
    file.write_bytes(as_csv(edges(0)))
    return file


def test_a_curator_posts_and_an_analyst_reads(
    server: Server, curator: Client, analyst: Client, tmp_path: Path
) -> None:
    made = curator.create_stream("journey", epsilon="1", window=4, method="psgraph")
    assert (made.name, made.epsilon, made.released, made.private) == ("journey", "1", 0, True)
    (tmp_path / "nodes.csv").write_bytes(roster())
    assert curator.put_roster("journey", tmp_path / "nodes.csv") == 40
    files = [tmp_path / "0.csv.gz", tmp_path / "1.parquet"]
    files[0].write_bytes(gzip.compress(as_csv(edges(0))))
    files[1].write_bytes(as_parquet(edges(1)))
    for timestamp, file in enumerate(files):
        assert curator.push("journey", timestamp, file, time=f"day {timestamp}").state == "accepted"
        assert curator.wait("journey", timestamp).state == "released"
    assert curator.push("journey", 0, files[0], time="day 0").state == "released"

    pulled = analyst.pull("journey", tmp_path / "releases")
    assert (pulled.releases, pulled.new) == (2, 2)
    assert pg.verify(tmp_path / "releases").largest_window_spent == "0.5"
    releases = pg.read_releases(tmp_path / "releases")
    assert [each.certificate.time for each in releases] == ["day 0", "day 1"]
    published = server.directory / "streams" / "journey" / "releases"
    assert tree(tmp_path / "releases") == tree(published)


def test_a_second_pull_downloads_only_what_is_new(
    curator: Client, released: str, tmp_path: Path
) -> None:
    to = tmp_path / "releases"
    curator.pull(released, to)
    before = {path: path.stat().st_mtime_ns for path in to.rglob("*")}
    asked: list[int] = []
    pulled = curator.pull(released, to, progress=asked.append)
    assert (pulled.releases, pulled.new, asked) == (2, 0, [])
    assert {path: path.stat().st_mtime_ns for path in to.rglob("*")} == before


@pytest.mark.parametrize("lost", ["000001.json", "000001.parquet", "000000.parquet"])
def test_an_interrupted_pull_is_continued(
    curator: Client, released: str, tmp_path: Path, lost: str
) -> None:
    to = tmp_path / "releases"
    curator.pull(released, to)
    before = tree(to)
    (to / lost).unlink()
    (to / f".{lost}.part").write_bytes(b"half")
    curator.pull(released, to)
    (to / f".{lost}.part").unlink(missing_ok=True)
    assert tree(to) == before
    assert pg.verify(to).releases == 2


@pytest.mark.parametrize("name", ["000000.parquet", "000001.json"])
def test_a_pulled_file_that_was_changed_is_found(
    curator: Client, released: str, tmp_path: Path, name: str
) -> None:
    to = tmp_path / "releases"
    curator.pull(released, to)
    content = bytearray((to / name).read_bytes())
    content[len(content) // 2] ^= 1
    (to / name).write_bytes(content)
    with pytest.raises(VerificationFailed):
        curator.pull(released, to)


def test_two_streams_are_not_mixed_in_one_directory(
    server: Server, curator: Client, released: str, tmp_path: Path
) -> None:
    other = new_stream(server)
    to = tmp_path / "releases"
    curator.pull(released, to)
    before = tree(to)
    with pytest.raises(VerificationFailed):
        curator.pull(other, to)
    assert tree(to) == before


def test_a_directory_that_was_published_here_is_left_alone(
    server: Server, curator: Client, released: str
) -> None:
    own = server.directory / "streams" / released / "releases"
    before = tree(own)
    with pytest.raises(OutputError):
        curator.pull(released, own)
    assert tree(own) == before


def test_a_file_that_does_not_fit_its_certificate_is_not_kept(
    curator: Client, released: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tampered(call: Call) -> Steps[str]:
        assert call.to is not None
        call.to.write_bytes(b"something else")
        return "0" * 64
        yield call

    monkeypatch.setattr("psgraph.client.mirror.saved", tampered)
    with pytest.raises(VerificationFailed):
        curator.pull(released, tmp_path / "releases")
    assert tree(tmp_path / "releases") == {}


def test_a_release_is_read_in_memory_and_checked(
    server: Server, curator: Client, released: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    published = pg.read_releases(server.directory / "streams" / released / "releases")[1]
    read = curator.release(released, 1)
    assert read.certificate == published.certificate
    assert (read.graph.u == published.graph.u).all()
    assert curator.edges(released, 1).num_rows == published.certificate.edges
    content = curator.edges(released, 0)
    assert content != curator.edges(released, 1)
    other = "psgraph.client.mirror.Call"
    monkeypatch.setattr(other, lambda method, path, to=None: Call(method, wrong(path), to=to))
    with pytest.raises(VerificationFailed):
        curator.release(released, 1)


def wrong(path: str) -> str:
    return path.replace("/1/edges", "/0/edges")


def test_both_clients_do_the_same(
    server: Server, curator: Client, released: str, tmp_path: Path
) -> None:
    async def asynchronously() -> list[object]:
        async with AsyncClient(server.address, server.token) as client:
            followed = client.follow(released, since=1)
            listed, found, budget = await asyncio.gather(
                client.releases(released), client.release(released, 0), client.budget(released)
            )
            pulled = await client.pull(released, tmp_path / "async")
            return [listed, found.certificate, budget, pulled.new, await anext(followed)]

    curator.pull(released, tmp_path / "sync")
    assert asyncio.run(asynchronously()) == [
        curator.releases(released),
        curator.release(released, 0).certificate,
        curator.budget(released),
        2,
        next(curator.follow(released, since=1)),
    ]
    assert tree(tmp_path / "async") == tree(tmp_path / "sync")


def test_every_operation_has_a_method_in_both_clients() -> None:
    made = {name for name, each in vars(operations).items() if _is_operation(each)}
    assert {name for name in made if not hasattr(Client, name)} == {"new_releases", "read"}
    public = {name for name in vars(Client) if not name.startswith("_")}
    assert public == {name for name in vars(AsyncClient) if not name.startswith("_")}
    for name in public:
        signatures = [inspect.signature(getattr(kind, name)) for kind in (Client, AsyncClient)]
        assert list(signatures[0].parameters) == list(signatures[1].parameters), name


def _is_operation(thing: object) -> bool:
    own = getattr(thing, "__module__", "") == operations.__name__
    return inspect.isfunction(thing) and own and not thing.__name__.startswith("_")


def test_errors_of_the_service_are_errors_of_psgraph(
    curator: Client, analyst: Client, untouched: str, released: str, snapshot: Path, tmp_path: Path
) -> None:
    with pytest.raises(AccessDenied) as denied:
        analyst.push(released, 2, snapshot)
    assert denied.value.status == 403
    with pytest.raises(ServiceError) as refused:
        curator.push(untouched, 5, snapshot)
    assert (refused.value.status, refused.value.code) == (409, "out_of_order")
    (tmp_path / "broken.csv").write_bytes(b"nonsense")
    with pytest.raises(ServiceError) as refused:
        curator.push(untouched, 0, tmp_path / "broken.csv")
    assert (refused.value.status, refused.value.code) == (422, "unreadable")
    with pytest.raises(DataError):
        curator.push(untouched, 0, tmp_path / "missing.csv")


def test_oversight_and_tokens(server: Server, curator: Client, released: str) -> None:
    assert curator.budget(released).timestamps == 2
    assert curator.verify(released).ok
    assert curator.plan(epsilon="1", window=5, nodes=100)
    assert released in {each.name for each in curator.streams()}
    token = curator.create_token("auditor", label="for the audit", streams=[released])
    assert token.token not in repr(token)
    assert Client(server.address, token.token).budget(released).timestamps == 2
    assert curator.revoke_token(token.id).revoked is not None
    assert token.id in {each.id for each in curator.tokens()}
    assert curator.audit_log(limit=5)


# ---- the commands ----


def test_push_and_pull_from_the_command_line(
    server: Server, stream: str, snapshot: Path, tmp_path: Path
) -> None:
    secret = tmp_path / "token"
    secret.write_text(f"{server.token}\n")
    access = (server.address, stream)
    pushed = psgraph(
        *("push", *access, snapshot, "--timestamp", 0, "--wait", 60, "--token-file", secret),
        "--json",
    )
    assert pushed.code == 0, pushed.text
    assert json.loads(pushed.out)["state"] == "released"
    pulled = psgraph(
        *("pull", *access, "--to", tmp_path / "releases"), env={"PSGRAPH_TOKEN": server.token}
    )
    assert pulled.code == 0, pulled.text
    assert "1, of which 1 new" in pulled.out
    assert psgraph_here("verify", tmp_path / "releases").code == 0
    assert server.token not in pushed.text + pulled.text


def test_push_says_that_a_snapshot_is_in_another_stream(
    server: Server, curator: Client, tmp_path: Path
) -> None:
    file = tmp_path / "shared.csv"
    file.write_bytes(as_csv(edges(0, variant=8)))
    first, second = new_stream(server), new_stream(server)
    assert curator.push(first, 0, file).also_in == []
    environment = {"PSGRAPH_TOKEN": server.token}
    pushed = psgraph(
        "push", server.address, second, file, "--timestamp", 0, "--json", env=environment
    )
    assert json.loads(pushed.out)["also_in"] == [first]
    assert first in pushed.err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("push", "{url}", "{stream}", "{file}"), 2, "--timestamp"),
        (("push", "{url}", "{stream}", "{file}", "--events", "--timestamp", "1"), 2, "--events"),
        (("push", "{url}", "{stream}", "{file}", "--timestamp", "0", "--key", "k"), 2, "--events"),
        (("push", "{url}", "{stream}", "{file}", "--timestamp", "7"), 1, "next timestamp"),
        (("push", "{url}", "no-such", "{file}", "--timestamp", "0"), 1, "no stream"),
        (("push", "http://192.0.2.1", "x", "{file}", "--timestamp", "0"), 2, "unencrypted"),
        (("pull", "{url}", "no-such", "--to", "{to}"), 1, "no stream"),
        (("pull", "nonsense", "x", "--to", "{to}"), 2, "https://host:port"),
        (("pull", "{url}", "x", "--to", "{to}", "--token-file", "{to}/none"), 2, "can't be read"),
    ],
)
def test_wrong_use_of_push_and_pull(
    server: Server,
    untouched: str,
    snapshot: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    code: int,
    words: str,
) -> None:
    monkeypatch.setenv("PSGRAPH_TOKEN", server.token)
    names = {"url": server.address, "stream": untouched, "file": snapshot, "to": tmp_path / "to"}
    failed = psgraph_here(*(each.format(**names) for each in arguments))
    assert (failed.code, failed.out) == (code, "")
    assert words in failed.err
    assert server.token not in failed.err
    assert "Traceback" not in failed.err
    assert not (tmp_path / "to").exists()


def test_push_tells_by_its_exit_code_that_the_budget_refused(
    server: Server,
    untouched: str,
    snapshot: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reason = "timestamp 0 would overspend the privacy budget."
    refused = TimestampView(
        stream=untouched, timestamp=0, time="0", state="refused", due=None, reason=reason
    )
    posted = Accepted(state="accepted", stream=untouched, timestamp=0)
    monkeypatch.setattr(Client, "push", lambda *_, **__: posted)
    monkeypatch.setattr(Client, "wait", lambda *_, **__: refused)
    done = psgraph_here(
        *("push", server.address, untouched, snapshot, "--timestamp", 0, "--wait", 1)
    )
    assert done.code == 3
    assert reason in done.out


def test_a_stream_without_releases_pulls_nothing(
    curator: Client, untouched: str, tmp_path: Path
) -> None:
    assert curator.pull(untouched, tmp_path / "releases").releases == 0
    assert not (tmp_path / "releases").exists()


def test_the_commands_take_no_token_as_an_argument() -> None:
    for command in ("push", "pull"):
        shown = psgraph_here(command, "--help").out
        assert "--token-file" in shown
        assert "--token " not in shown


# ---- a stream that stopped ----


def _lose_draws(out: Path) -> None:
    """Count as many measurements as psgraph allows, none of them sealed."""
    with Publisher.resume(out) as publisher:
        for _ in range(MOST_ATTEMPTS):
            publisher._begin_attempt()


def test_a_stopped_stream_is_continued_by_a_curator_or_at_the_start(tmp_path: Path) -> None:
    with Server(tmp_path / "data") as server:
        curator = Client(server.address, server.token)
        for name in ("by-call", "by-start"):
            new_stream(server, name)
            _lose_draws(server.directory / "streams" / name / "releases")
            assert post(server, name, 0, as_csv(edges(0))).status == 202
        for name in ("by-call", "by-start"):
            while "measure-again" not in (curator.stream(name).reason or ""):
                time.sleep(0.05)
        assert curator.measure_again("by-call").health == "ok"
        assert curator.wait("by-call", 0).state == "released"
        with pytest.raises(ServiceError):
            curator.measure_again("by-call")
    with Server(tmp_path / "data", "--measure-again", "by-start", "--new-curator-token") as server:
        assert Client(server.address, server.token).wait("by-start", 0).state == "released"
