"""Downloads against a server on this machine: cut off, resumed, refused, changed."""

from __future__ import annotations

import json
import random
import socket
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from psgraph.errors import DataError, OutputError
from psgraph_lab.datasets.download import download

from .server import Behaviour, serving

CONTENT = random.Random(1).randbytes(300_000)
REMEDY = "Use --from DIR."


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """No pauses, and no proxy between the test and its server."""
    monkeypatch.setattr("psgraph_lab.datasets.download._PAUSE", 0.0)
    monkeypatch.setenv("no_proxy", "*")


def fetch(address: str, directory: Path, **options: object) -> Path:
    target = directory / "file.bin"
    download(f"{address}/file.bin", target, remedy=REMEDY, **options)  # type: ignore[arg-type]
    return target


def left_over(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()} - {"file.bin"}


@pytest.mark.parametrize("chunked", [False, True])
def test_a_whole_file_with_progress(tmp_path, chunked):
    told = []
    with serving(Behaviour({"file.bin": CONTENT}, chunked=chunked)) as address:
        target = fetch(address, tmp_path / "new", watch=lambda *what: told.append(what))
    assert target.read_bytes() == CONTENT
    assert not left_over(tmp_path / "new")
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)
    assert told[0][1] == 0
    assert told[-1] == ("file.bin", len(CONTENT), None if chunked else len(CONTENT))


def test_a_cut_connection_is_taken_up_where_it_stopped(tmp_path):
    behaviour = Behaviour({"file.bin": CONTENT}, cuts=[100_000, 50_000])
    with serving(behaviour) as address:
        assert fetch(address, tmp_path).read_bytes() == CONTENT
    asked = [request.get("Range") for request in behaviour.requests]
    assert asked == [None, "bytes=100000-", "bytes=150000-"]
    assert not left_over(tmp_path)


def test_a_connection_lost_for_good_keeps_what_arrived_and_a_later_call_resumes(tmp_path):
    behaviour = Behaviour({"file.bin": CONTENT}, cuts=[10_000] * 4)
    with serving(behaviour) as address:
        with pytest.raises(DataError, match="40,000"):
            fetch(address, tmp_path)
        assert left_over(tmp_path) == {"file.bin.part", "file.bin.part.json"}
        assert not (tmp_path / "file.bin").exists()
        assert fetch(address, tmp_path).read_bytes() == CONTENT
    assert behaviour.requests[-1]["Range"] == "bytes=40000-"


@given(st.lists(st.integers(0, 3000), max_size=3), st.booleans(), st.booleans(), st.booleans())
@settings(
    max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
def test_however_it_is_cut_the_bytes_are_the_same(tmp_path_factory, cuts, ranges, tagged, chunked):
    content = CONTENT[:2500]
    behaviour = Behaviour(
        {"file.bin": content},
        cuts=cuts,
        ranges=ranges,
        tag='"one"' if tagged else "",
        chunked=chunked,
    )
    with serving(behaviour) as address:
        assert fetch(address, tmp_path_factory.mktemp("cut")).read_bytes() == content


def test_a_part_of_another_version_is_not_mixed_in(tmp_path):
    behaviour = Behaviour({"file.bin": CONTENT}, cuts=[10_000] * 4)
    with serving(behaviour) as address:
        with pytest.raises(DataError):
            fetch(address, tmp_path)
        behaviour.files["file.bin"] = other = bytes(reversed(CONTENT))
        behaviour.tag = '"two"'
        assert fetch(address, tmp_path).read_bytes() == other


def test_a_weak_tag_does_not_promise_the_same_bytes(tmp_path):
    behaviour = Behaviour({"file.bin": CONTENT}, cuts=[10_000], tag='W/"one"')
    with serving(behaviour) as address:
        assert fetch(address, tmp_path).read_bytes() == CONTENT
    assert all("Range" not in request for request in behaviour.requests)


@pytest.mark.parametrize("there", [len(CONTENT), len(CONTENT) + 7])
def test_a_part_that_is_as_long_or_longer_is_thrown_away(tmp_path, there):
    (tmp_path / "file.bin.part").write_bytes(b"x" * there)
    (tmp_path / "file.bin.part.json").write_text(json.dumps({"version": '"one"'}))
    with serving(Behaviour({"file.bin": CONTENT})) as address:
        assert fetch(address, tmp_path).read_bytes() == CONTENT


@pytest.mark.parametrize("memory", ["", "[]", "nonsense", '{"version": ""}'])
def test_a_part_without_a_version_is_thrown_away(tmp_path, memory):
    (tmp_path / "file.bin.part").write_bytes(b"x" * 100)
    (tmp_path / "file.bin.part.json").write_text(memory)
    with serving(Behaviour({"file.bin": CONTENT})) as address:
        assert fetch(address, tmp_path).read_bytes() == CONTENT


def test_a_server_that_sends_another_part_than_asked_for(tmp_path):
    behaviour = Behaviour({"file.bin": CONTENT}, cuts=[10_000], wrong_start=5)
    with serving(behaviour) as address:
        assert fetch(address, tmp_path).read_bytes() == CONTENT


@pytest.mark.parametrize("status", [404, 403, 500, 503])
def test_a_refusal_is_told_with_the_address_and_the_remedy(tmp_path, status):
    behaviour = Behaviour({}, status=status)
    with (
        serving(behaviour) as address,
        pytest.raises(DataError, match=rf"{address}/file.bin.* {status} .*\n{REMEDY}"),
    ):
        fetch(address, tmp_path)
    assert not (tmp_path / "file.bin").exists()
    assert len(behaviour.requests) == 1


def test_no_network(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for host in (f"127.0.0.1:{port}", "nowhere.invalid"):
        with pytest.raises(DataError, match=rf"^{host} .*\n{REMEDY}$"):
            fetch(f"http://{host}", tmp_path)


def test_a_directory_that_can_t_be_written_to(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with serving(Behaviour({"file.bin": CONTENT})) as address, pytest.raises(OutputError):
        fetch(address, tmp_path / "file")
    (tmp_path / "file.bin.part").mkdir()
    with (
        serving(Behaviour({"file.bin": CONTENT})) as address,
        pytest.raises(OutputError),
    ):
        fetch(address, tmp_path)
