"""Two neighbouring inputs, one edge apart: nothing but the release may tell them apart.

The same requests are sent for both. Statuses, headers, bodies, sizes, log lines, metrics and the
audit log are compared byte by byte, apart from the time of day, names and what is drawn with noise.
"""

from __future__ import annotations

import json
import re
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.service.conftest import until_recorded
from tests.service.scenario import CSV, Edges, as_csv, edges, new_stream, post
from tests.service.server import Answer, Server

NOISY = ("edges", "digest", "graph_sha256", "summary", "previous")
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z?")
HEADERS_OF_NOISE = ("date", "etag", "last-modified")


def plain(text: str, name: str) -> str:
    """A text without the time of day and the name of the stream."""
    return MOMENT.sub("<time>", text.replace(name, "<stream>"))


def seen(answer: Answer, name: str) -> tuple[int, dict[str, str], str]:
    headers = {
        key.lower(): plain(value, name)
        for key, value in answer.headers.items()
        if key.lower() not in HEADERS_OF_NOISE
    }
    return answer.status, headers, plain(answer.body.decode("latin-1"), name)


def without_noise(value: Any) -> Any:
    """A JSON value with a mark in place of everything that is drawn."""
    if isinstance(value, dict):
        return {k: "<noisy>" if k in NOISY else without_noise(v) for k, v in value.items()}
    return [without_noise(each) for each in value] if isinstance(value, list) else value


def counted(server: Server) -> dict[str, int]:
    """The counters among the metrics."""
    lines = server.call("GET", "/metrics", api=False).text.splitlines()
    return {
        line.rpartition(" ")[0]: int(float(line.rpartition(" ")[2]))
        for line in lines
        if line.startswith("psgraph_requests_total")
    }


def audited(server: Server, token: str, name: str) -> list[dict[str, Any]]:
    """What an auditor sees of a stream in the audit log, oldest first."""
    page = server.call("GET", "/audit-log?limit=1000", token=token).json
    hidden = ("number", "digest", "at", "stream")
    return [
        {key: value for key, value in entry.items() if key not in hidden}
        for entry in reversed(page["entries"])
        if entry["stream"] == name
    ]


def logged(log: Path, begin: int, name: str) -> list[dict[str, Any]]:
    """The log lines since a position, without times and durations; the worker's come apart."""
    time.sleep(0.1)  # a line is written after its answer
    lines = [json.loads(plain(line, name)) for line in log.read_text()[begin:].splitlines()]
    kept = [
        {key: value for key, value in line.items() if key not in ("at", "seconds")}
        for line in lines
        if line.get("route") != "/metrics"  # the test itself asks for these
    ]
    return sorted(kept, key=lambda line: line["event"] != "request")


def transcript(server: Server, tokens: dict[str, str], graph: Edges) -> dict[str, Any]:
    """All that is visible while a snapshot is posted, released and read."""
    name = new_stream(server)
    before, begin = counted(server), len(server.log.read_text())
    body = as_csv(graph)
    posted = [post(server, name, 0, body)]
    until_recorded(server, name, 0)
    posted.append(post(server, name, 0, body))
    posted.append(post(server, name, 0, as_csv(edges(0, variant=1))))
    posted.append(post(server, name, 1, body + b"1,99999\n"))
    posted.append(post(server, name, 1, body + b"1\n"))
    roles = {**tokens, "public": None}
    paths = ("", "/releases/0/nodes", "/timestamps/0", "/timestamps/1", "/budget", "/verify")
    answers = {
        (role, path): seen(server.call("GET", f"/streams/{name}{path}", token=token), name)
        for role, token in roles.items()
        for path in paths
    }
    noisy = {
        path: without_noise(server.call("GET", f"/streams/{name}{path}").json)
        for path in ("/releases", "/releases/0")
    }
    metrics = server.call("GET", "/metrics", token=tokens["auditor"], api=False).text
    after = counted(server)
    return {
        "posts": [seen(each, name) for each in posted],
        "answers": answers,
        "noisy": json.loads(plain(json.dumps(noisy), name)),
        "requests": {
            key: n - before.get(key, 0) for key, n in after.items() if n > before.get(key, 0)
        },
        "metrics": [plain(line, name) for line in metrics.splitlines() if name in line],
        "audit": audited(server, tokens["auditor"], name),
        "log": logged(server.log, begin, name),
    }


def test_one_edge_more_or_less_shows_nowhere_but_in_the_release(
    server: Server, tokens: dict[str, str]
) -> None:
    graph = edges(0, variant=7)  # posted to no other stream, which its curator would be told
    first, second = (transcript(server, tokens, each) for each in (graph, graph[:-1]))
    assert [each[0] for each in first["posts"]] == [202, 200, 409, 422, 422]
    for part in first:
        assert first[part] == second[part], part


@pytest.mark.parametrize("extra", [b"1,99999\n", b"1\n", b"1,2\n"])
def test_a_refused_snapshot_shows_to_others_only_as_one_that_was_posted(
    server: Server, tokens: dict[str, str], extra: bytes
) -> None:
    def told(body: bytes) -> dict[str, Any]:
        name = new_stream(server, period="1d", missing="empty", public=True)
        before, begin = counted(server), len(server.log.read_text())
        post(server, name, 0, body)
        after = counted(server)
        return {
            "answers": {
                (role, path): seen(server.call("GET", f"/streams/{name}{path}", token=token), name)
                for role, token in {**tokens, "public": None}.items()
                for path in ("", "/timestamps/0")
            },
            "requests": {
                key: n - before.get(key, 0) for key, n in after.items() if n > before.get(key, 0)
            },
            "audit": audited(server, tokens["auditor"], name),
            "log": logged(server.log, begin, name),
        }

    plainly, refused = told(as_csv(edges(0))), told(as_csv(edges(0)) + extra)
    for part in plainly:
        assert plainly[part] == refused[part], part


def overseen(server: Server, tokens: dict[str, str], batches: list[bytes]) -> dict[str, Any]:
    """What others than the curator see of events that are posted."""
    name = new_stream(server, source="events", period="1d")
    before, begin = counted(server), len(server.log.read_text())
    for number, batch in enumerate(batches):
        headers = {**CSV, "Idempotency-Key": f"{name}-batch-{number}"}
        answer = server.call("POST", f"/streams/{name}/events", body=batch, headers=headers)
        assert answer.status == 202, answer.text
        answer = server.call("POST", f"/streams/{name}/preview", body=batch, headers=CSV)
        assert answer.status == 200, answer.text
    after = counted(server)
    answers = {
        (role, path): seen(server.call("GET", f"/streams/{name}{path}", token=tokens[role]), name)
        for role in ("analyst", "auditor")
        for path in ("", "/timestamps/0", "/releases", "/budget")
    }
    return {
        "answers": answers,
        "requests": {
            key: n - before.get(key, 0) for key, n in after.items() if n > before.get(key, 0)
        },
        "audit": audited(server, tokens["auditor"], name),
        "log": logged(server.log, begin, name),
    }


def test_how_many_events_were_posted_shows_nowhere(server: Server, tokens: dict[str, str]) -> None:
    now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    batch = as_csv([(1, 2, now)], "u,v,time")
    none, many = (overseen(server, tokens, [batch] * number) for number in (0, 3))
    for part in none:
        assert none[part] == many[part], part


def test_the_log_of_event_posts_is_closed_to_auditors(
    server: Server, tokens: dict[str, str]
) -> None:
    assert server.call("GET", "/audit-log?log=curators", token=tokens["auditor"]).status == 403
    assert server.call("GET", "/audit-log?log=curators").status == 200


@pytest.mark.parametrize("role", ["analyst", "auditor", "public"])
def test_a_wrong_upload_of_the_curator_shows_to_no_one_else(
    server: Server, tokens: dict[str, str], role: str
) -> None:
    name = new_stream(server, public=True)
    token = tokens.get(role)
    before = seen(server.call("GET", f"/streams/{name}", token=token), name)
    post(server, name, 0, as_csv(edges(0)) + b"1,99999\n")
    assert seen(server.call("GET", f"/streams/{name}", token=token), name) == before


def test_no_log_line_holds_an_id_a_count_or_a_query(server: Server, released: str) -> None:
    marked = as_csv([(f"secret{number}", f"secret{number + 1}") for number in range(5)])
    post(server, released, 2, marked)
    server.call("GET", f"/streams/{released}/releases?since=1&secret=secret1")
    server.call("GET", f"/nonsense-secret1?token={server.token}")
    server.call("GET", "/streams", token="secret-token-secret1")
    text = server.log.read_text()
    assert "secret" not in text
    assert server.token not in text
    for line in text.splitlines()[1:]:  # the first one is a hint to keep the token
        allowed = {"at", "event", "method", "route", "status", "seconds", "stream", "timestamp"}
        assert set(json.loads(line)) <= allowed | {"error", "places", "version"}, line
