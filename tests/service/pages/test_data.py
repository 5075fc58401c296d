"""Forms with a file: read as they arrive, in pieces of any size."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from fastapi import Request
from fastapi.testclient import TestClient

from psgraph.service.audit_log import SERVICE
from psgraph.service.pages.data import FileForm
from psgraph.service.problems import Refusal
from psgraph.service.schemas import NewStream

CONTENT = b"u,v\n1,2\r\n--not-the-boundary\r\n3,4\n" * 20
BODY = (
    b'--edge\r\nContent-Disposition: form-data; name="csrf"\r\n\r\nsecret\r\n'
    b'--edge\r\nContent-Disposition: form-data; name="timestamp"\r\n\r\n 7 \r\n'
    b'--edge\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n'
    b"Content-Type: text/csv\r\n\r\n" + CONTENT + b"\r\n--edge--\r\n"
)


def request_of(
    body: bytes, piece: int, kind: str = "multipart/form-data; boundary=edge"
) -> Request:
    pieces = [body[start : start + piece] for start in range(0, len(body), piece)]

    async def receive() -> dict[str, Any]:
        more = len(pieces) > 1
        return {"type": "http.request", "body": pieces.pop(0), "more_body": more}

    return Request({"type": "http", "headers": [(b"content-type", kind.encode())]}, receive)


async def read(request: Request) -> tuple[dict[str, str], bytes]:
    form = FileForm(request)
    await form.read_fields()
    return form.fields, b"".join([piece async for piece in form.chunks()])


@pytest.mark.parametrize("piece", [1, 2, 7, 64, 4096])
def test_a_form_is_read_alike_in_pieces_of_any_size(piece: int) -> None:
    fields, content = asyncio.run(read(request_of(BODY, piece)))
    assert fields == {"csrf": "secret", "timestamp": "7"}
    assert content == CONTENT


@pytest.mark.parametrize("length", [200, len(BODY) - len(CONTENT), len(BODY) - 10])
def test_a_form_that_was_cut_short_is_refused(length: int) -> None:
    with pytest.raises(Refusal) as refused:
        asyncio.run(read(request_of(BODY[:length], 64)))
    assert refused.value.error == "bad_request"


def test_a_visitor_who_hangs_up_is_no_fault() -> None:
    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    kind = [(b"content-type", b"multipart/form-data; boundary=edge")]
    with pytest.raises(Refusal) as refused:
        asyncio.run(read(Request({"type": "http", "headers": kind}, receive)))
    assert refused.value.error == "bad_request"


def test_a_long_field_is_refused_before_the_file_is_read() -> None:
    body = BODY.replace(b"secret", b"s" * 20_000)
    with pytest.raises(Refusal) as refused:
        asyncio.run(read(request_of(body, 4096)))
    assert refused.value.error == "bad_request"


def test_many_fields_are_refused() -> None:
    field = b'--edge\r\nContent-Disposition: form-data; name="%d"\r\n\r\nx\r\n'
    body = b"".join(field % number for number in range(50)) + BODY
    with pytest.raises(Refusal) as refused:
        asyncio.run(read(request_of(body, 4096)))
    assert refused.value.error == "bad_request"


@pytest.mark.parametrize("kind", ["text/csv", "multipart/form-data", "multipart/form-data; x=y"])
def test_something_else_than_a_form_is_refused(kind: str) -> None:
    with pytest.raises(Refusal) as refused:
        asyncio.run(read(request_of(BODY, 4096, kind)))
    assert refused.value.error == "bad_request"


def test_a_form_without_a_file_asks_for_one(
    client: TestClient, signed_in: Callable[[str], str]
) -> None:
    data = {"csrf": signed_in("curator"), "timestamp": "0"}
    files = {"file": ("", b"", "application/octet-stream")}
    answer = client.post("/streams/calls/data", data=data, files=files)
    assert answer.status_code == 422
    assert 'data-error="no_file"' in answer.text


def test_a_file_above_the_limit_is_refused(
    client: TestClient, signed_in: Callable[[str], str]
) -> None:
    data = {"csrf": signed_in("curator"), "timestamp": "0"}
    files = {"file": ("a.csv", b"1,2\n" * 50_000)}
    answer = client.post("/streams/calls/data", data=data, files=files)
    assert answer.status_code == 413
    assert 'data-error="too_large"' in answer.text


def test_events_sent_twice_by_one_form_are_recognised(
    client: TestClient, signed_in: Callable[[str], str]
) -> None:
    service = client.app.state.service  # type: ignore[attr-defined]
    new = NewStream(
        name="events", epsilon="1", window=3, roster="edges", source="events", period="1d"
    )
    service.streams.create(new, SERVICE)
    csrf = signed_in("curator")
    form = client.get("/streams/events/data").text
    (key,) = re.findall(r'name="key" value="([0-9a-f]{32})"', form)
    at = datetime.now(UTC).isoformat(timespec="seconds")

    def send(row: str) -> int:
        content = f"u,v,time\n{row},{at}\n".encode()
        data, files = {"csrf": csrf, "key": key}, {"file": ("a.csv", content)}
        return client.post("/streams/events/data", data=data, files=files).status_code

    assert [send("1,2"), send("1,2"), send("1,3")] == [303, 303, 409]


def test_what_was_typed_survives_a_refusal(
    client: TestClient, signed_in: Callable[[str], str]
) -> None:
    data = {"csrf": signed_in("curator"), "timestamp": "41", "time": "next spring"}
    answer = client.post("/streams/calls/data", data=data, files={"file": ("a.csv", b"u,v\n1,2\n")})
    assert answer.status_code == 409
    assert 'value="next spring"' in answer.text
    assert 'value="41"' in answer.text


def test_posts_of_private_data_leave_no_line_in_the_log(
    client: TestClient, signed_in: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    csrf = signed_in("curator")
    capsys.readouterr()
    files = {"file": ("a.csv", b"u,v\n1,2\n")}
    for path in ("/streams/calls/preview", "/streams/calls/data"):
        client.post(path, data={"csrf": csrf, "timestamp": "77"}, files=files)
    client.post("/streams/calls/quality", data={"csrf": csrf})
    client.get("/new")
    said = capsys.readouterr().err
    assert "/new" in said
    assert "/streams" not in said


def test_a_preview_is_marked_and_recorded(
    client: TestClient, signed_in: Callable[[str], str]
) -> None:
    csrf = signed_in("curator")
    files = {"file": ("a.csv", b"u,v\n1,2\n2,3\n")}
    answer = client.post("/streams/calls/preview", data={"csrf": csrf}, files=files)
    assert 'class="notice private" data-readable="yes"' in answer.text
    assert "preview" in client.get("/audit").text


def test_a_snapshot_that_is_in_another_stream_is_shown_before_and_after_its_post(
    client: TestClient, signed_in: Callable[[str], str]
) -> None:
    service = client.app.state.service  # type: ignore[attr-defined]
    for name in ("morning", "evening"):
        new = NewStream(name=name, epsilon="1", window=3, method="psgraph", roster="edges")
        service.streams.create(new, SERVICE)
    data = {"csrf": signed_in("curator"), "timestamp": "0"}
    content = {"file": ("a.csv", b"u,v\n1,2\n2,3\n3,4\n")}
    first = client.post("/streams/morning/data", data=data, files=content)
    assert "posted to" not in client.get(first.headers["location"]).text
    assert (
        "posted to morning"
        in client.post("/streams/evening/preview", data=data, files=content).text
    )
    second = client.post("/streams/evening/data", data=data, files=content)
    assert "morning" not in second.headers["location"]
    assert "posted to morning" in client.get(second.headers["location"]).text
