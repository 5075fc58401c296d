"""Wrong requests to every endpoint: right status, a remedy, nothing spent, nothing half stored."""

from __future__ import annotations

import gzip
import http.client
import io
from collections.abc import Mapping

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.service.conftest import wait_for
from tests.service.scenario import (
    CSV,
    PARQUET,
    as_csv,
    as_parquet,
    edges,
    is_a_refusal,
    new_stream,
    post,
    roster,
    stored,
)
from tests.service.server import API, Answer, Server

GOOD = as_csv(edges(0))
KEY = {"Idempotency-Key": "batch-0001"}


def table(**columns: object) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file)
    return file.getvalue()


# ---- uploads that can't be read ----

NOT_EDGES = {
    "empty": (CSV, b""),
    "binary": (CSV, bytes(range(256)) * 8),
    "not UTF-8": (CSV, b"u,v\n\xff\xfe,\x80\n"),
    "NUL": (CSV, b"u,v\n1,\x002\n"),
    "one column": (CSV, b"u\n1\n"),
    "no such columns": (CSV, b"height,weight\n1,2\n"),
    "a broken row": (CSV, GOOD + b"1\n"),
    "an open quote": (CSV, GOOD + b'"1,2\n'),
    "text for integers": (CSV, GOOD + b"ann,bob\n"),
    "floats": (CSV, GOOD + b"1.5,2.5\n"),
    "no value": (CSV, GOOD + b",2\n"),
    "outside the roster": (CSV, GOOD + b"1,99999\n"),
    "beyond 64 bits": (CSV, GOOD + b"1,99999999999999999999999\n"),
    "Parquet called CSV": (CSV, as_parquet(edges(0))),
    "CSV called Parquet": (PARQUET, GOOD),
    "JSON": (CSV, b'{"u": 1, "v": 2}'),
    "half of a Parquet file": (PARQUET, as_parquet(edges(0))[:300]),
    "Parquet without its footer": (PARQUET, as_parquet(edges(0))[:-8]),
    "Parquet of other columns": (PARQUET, table(height=[1], weight=[2])),
    "Parquet of floats": (PARQUET, table(u=[1.5], v=[2.5])),
    "Parquet of lists": (PARQUET, table(u=[[1]], v=[[2]])),
    "Parquet with nulls": (PARQUET, table(u=[1, None], v=[2, 3])),
    "half of a gzip file": (CSV, gzip.compress(GOOD)[:-10]),
}


@pytest.mark.parametrize("case", NOT_EDGES)
def test_a_snapshot_that_can_not_be_read(server: Server, untouched: str, case: str) -> None:
    headers, body = NOT_EDGES[case]
    before = stored(server, untouched)
    answer = server.call("POST", f"/streams/{untouched}/snapshots/0", body=body, headers=headers)
    is_a_refusal(answer, 422)
    assert stored(server, untouched) == before


def test_messages_about_unreadable_snapshots_are_all_the_same(
    server: Server, untouched: str
) -> None:
    path = f"/streams/{untouched}/snapshots/0"
    answers = {
        server.call("POST", path, body=body, headers=headers).body
        for headers, body in (
            NOT_EDGES[case]
            for case in ("a broken row", "one column", "NUL", "half of a Parquet file")
        )
    }
    assert len(answers) == 1


def test_the_preview_says_what_is_wrong_and_stores_nothing(server: Server, untouched: str) -> None:
    before = stored(server, untouched)
    path = f"/streams/{untouched}/preview"
    for case in ("a broken row", "one column", "outside the roster"):
        headers, body = NOT_EDGES[case]
        answer = server.call("POST", path, body=body, headers=headers)
        assert answer.status == 200, case
        assert answer.json["curator_only"] is True
        assert not answer.json["readable"]
        assert answer.json["problem"]
    assert server.call("POST", path, body=GOOD, headers=CSV).json["readable"]
    assert stored(server, untouched) == before


@pytest.mark.parametrize(
    ("kind", "status"), [(None, 415), ("application/json", 415), ("text/html", 415), ("", 415)]
)
@pytest.mark.parametrize("path", ["snapshots/0", "preview", "roster"])
def test_a_body_of_another_type(
    server: Server, untouched: str, path: str, kind: str | None, status: int
) -> None:
    before = stored(server, untouched)
    headers = {} if kind is None else {"Content-Type": kind}
    method = "PUT" if path == "roster" else "POST"
    answer = server.call(method, f"/streams/{untouched}/{path}", body=GOOD, headers=headers)
    is_a_refusal(answer, status)
    assert stored(server, untouched) == before


# ---- uploads that are not complete, or come twice, or in another order ----


def half_sent(server: Server, path: str, headers: Mapping[str, str]) -> None:
    """Announce more than is sent, then hang up."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.putrequest("POST", API + path)
    announced = {"Authorization": f"Bearer {server.token}", "Content-Length": "100000", **headers}
    for name, value in announced.items():
        connection.putheader(name, value)
    connection.endheaders()
    connection.send(GOOD)
    connection.close()


@pytest.mark.parametrize("path", ["snapshots/0", "preview", "events"])
def test_an_upload_that_breaks_off(server: Server, stream: str, path: str) -> None:
    before = stored(server, stream)
    half_sent(server, f"/streams/{stream}/{path}", {**CSV, **KEY})
    for _ in range(100):
        if stored(server, stream) == before:
            break
    assert post(server, stream, 0, GOOD).status == 202
    assert wait_for(server, stream, 0) == "released"
    assert server.call("GET", f"/streams/{stream}/releases/0").status == 200


def test_the_same_data_again_give_the_same_release(server: Server, stream: str) -> None:
    assert post(server, stream, 0, GOOD).status == 202
    assert wait_for(server, stream, 0) == "released"
    edges_path = f"/streams/{stream}/releases/0/edges"
    first = server.call("GET", edges_path).body
    before = stored(server, stream)
    shuffled = as_csv([(v, u) for u, v in reversed(edges(0))])
    for body in (GOOD, shuffled, gzip.compress(GOOD)):
        answer = post(server, stream, 0, body)
        assert (answer.status, answer.json["state"]) == (200, "released")
    assert stored(server, stream) == before
    assert server.call("GET", edges_path).body == first


def test_other_data_for_a_released_timestamp(server: Server, stream: str) -> None:
    assert post(server, stream, 0, GOOD).status == 202
    assert wait_for(server, stream, 0) == "released"
    before = stored(server, stream)
    is_a_refusal(post(server, stream, 0, as_csv(edges(0)[:-1])), 409, "other_data")
    assert stored(server, stream) == before


@pytest.mark.parametrize("timestamp", [1, 2, 999_999_999])
def test_a_timestamp_out_of_order(server: Server, untouched: str, timestamp: int) -> None:
    before = stored(server, untouched)
    is_a_refusal(post(server, untouched, timestamp, GOOD), 409, "out_of_order")
    assert stored(server, untouched) == before


@pytest.mark.parametrize(
    "timestamp", ["-1", "1.5", "ten", "1e3", "9999999999", "0x1", "%30%30%00", "１"]
)
def test_a_timestamp_that_is_none(server: Server, untouched: str, timestamp: str) -> None:
    before = stored(server, untouched)
    path = f"/streams/{untouched}/snapshots/{timestamp}"
    quoted = path.encode().decode("ascii", "ignore") if not path.isascii() else path
    if quoted != path:
        quoted = f"/streams/{untouched}/snapshots/%EF%BC%91"
    answer = server.call("POST", quoted, body=GOOD, headers=CSV)
    if timestamp == "１":  # Python reads it as 1, which is out of order here
        is_a_refusal(answer, (409, 422))
    else:
        is_a_refusal(answer, (404, 422))
    assert stored(server, untouched) == before


def test_a_snapshot_before_its_roster(server: Server) -> None:
    terms = {"name": "rosterless", "epsilon": "1", "window": 2}
    assert server.call("POST", "/streams", content=terms).status == 201
    before = stored(server, "rosterless")
    is_a_refusal(post(server, "rosterless", 0, GOOD), 409)
    assert stored(server, "rosterless") == before


def test_the_time_of_a_timestamp_that_is_taken_or_unusable(server: Server, stream: str) -> None:
    path = f"/streams/{stream}/snapshots"
    assert server.call("POST", f"{path}/0?time=monday", body=GOOD, headers=CSV).status == 202
    assert wait_for(server, stream, 0) == "released"
    before = stored(server, stream)
    again = server.call("POST", f"{path}/1?time=monday", body=GOOD, headers=CSV)
    is_a_refusal(again, 409, "time_taken")
    for time in ("%00", "%0d%0aSet-Cookie:x=1", "x" * 101, "%1b%5b2J", "%20", "%e2%80%ae"):
        answer = server.call("POST", f"{path}/1?time={time}", body=GOOD, headers=CSV)
        is_a_refusal(answer, 422)
    assert stored(server, stream) == before


# ---- rosters ----


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"id\n",
        b"id\n1\n1\n",
        b"\xff\xfe",
        b"id,from\n1,2024-01-01\n",
        b'id\n"1\n',
        b"id\n\n\n",
    ],
)
def test_a_roster_that_can_not_be_used(server: Server, untouched: str, body: bytes) -> None:
    before = stored(server, untouched)
    is_a_refusal(
        server.call("PUT", f"/streams/{untouched}/roster", body=body, headers=CSV), (409, 422)
    )
    assert stored(server, untouched) == before


@pytest.mark.parametrize("body", [roster(39), as_csv([(f"n{i}",) for i in range(60)], "id")])
def test_a_roster_never_shrinks(server: Server, untouched: str, body: bytes) -> None:
    before = stored(server, untouched)
    answer = server.call("PUT", f"/streams/{untouched}/roster", body=body, headers=CSV)
    is_a_refusal(answer, 409, "roster_shrinks")
    assert stored(server, untouched) == before


# ---- events ----


@pytest.fixture(scope="module")
def ticked(server: Server) -> str:
    """A stream of events with a tick that does not come during the test."""
    return new_stream(server, source="events", period="1d")


def events(server: Server, stream: str, body: bytes, key: str | None = "batch-0001") -> Answer:
    headers = {**CSV, **({} if key is None else {"Idempotency-Key": key})}
    return server.call("POST", f"/streams/{stream}/events", body=body, headers=headers)


@pytest.mark.parametrize("key", [None, "", "short", "x" * 101, "with blank", "slash/../slash"])
def test_events_without_a_usable_key(server: Server, ticked: str, key: str | None) -> None:
    before = stored(server, ticked)
    is_a_refusal(events(server, ticked, b"u,v,time\n", key), 422)
    assert stored(server, ticked) == before


@pytest.mark.parametrize(
    "body",
    [
        GOOD,
        b"u,v,time\n1,2,yesterday\n",
        b"u,v,time\n1,2,2001-01-01\n",
        b"u,v,time\n1,2,2999-01-01\n",
        b"u,v,time\n1,99999,2024-01-01\n",
        b"u,v,time\n1,2\n",
    ],
)
def test_events_that_can_not_be_used(server: Server, ticked: str, body: bytes) -> None:
    before = stored(server, ticked)
    is_a_refusal(events(server, ticked, body), 422)
    assert stored(server, ticked) == before


def test_a_key_stands_for_one_batch(server: Server) -> None:
    from datetime import UTC, datetime

    name = new_stream(server, source="events", period="1d")
    now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    batch = as_csv([(1, 2, now), (3, 4, now)], "u,v,time")
    assert events(server, name, batch).status == 202
    before = stored(server, name)
    again = events(server, name, batch)
    assert (again.status, again.json["state"]) == (202, "accepted")
    is_a_refusal(events(server, name, batch + b"5,6," + now.encode() + b"\n"), 409, "key_reused")
    assert stored(server, name) == before


def test_snapshots_and_events_are_not_mixed(server: Server, untouched: str, ticked: str) -> None:
    is_a_refusal(post(server, ticked, 0, GOOD), 409)
    is_a_refusal(events(server, untouched, b"u,v,time\n1,2,2024-01-01\n"), 409)
