"""Forms with a file: read as they arrive, in pieces of any size."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from fastapi import Request
from fastapi.testclient import TestClient

from psgraph.service.pages.uploading import FileForm
from psgraph.service.problems import Refusal

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


def test_a_long_field_is_refused_before_the_file_is_read() -> None:
    body = BODY.replace(b"secret", b"s" * 20_000)
    with pytest.raises(Refusal, match="can't be read"):
        asyncio.run(read(request_of(body, 4096)))


def test_many_fields_are_refused() -> None:
    field = b'--edge\r\nContent-Disposition: form-data; name="%d"\r\n\r\nx\r\n'
    body = b"".join(field % number for number in range(50)) + BODY
    with pytest.raises(Refusal, match="can't be read"):
        asyncio.run(read(request_of(body, 4096)))


@pytest.mark.parametrize("kind", ["text/csv", "multipart/form-data", "multipart/form-data; x=y"])
def test_something_else_than_a_form_is_refused(kind: str) -> None:
    with pytest.raises(Refusal, match="can't be read"):
        asyncio.run(read(request_of(BODY, 4096, kind)))


def test_a_form_without_a_file_asks_for_one(
    client: TestClient, signed_in: Callable[[str], str]
) -> None:
    data = {"csrf": signed_in("curator"), "timestamp": "0"}
    files = {"file": ("", b"", "application/octet-stream")}
    answer = client.post("/streams/calls/data", data=data, files=files)
    assert answer.status_code == 422
    assert "No file was chosen" in answer.text


def test_a_file_above_the_limit_is_refused(
    client: TestClient, signed_in: Callable[[str], str]
) -> None:
    data = {"csrf": signed_in("curator"), "timestamp": "0"}
    files = {"file": ("a.csv", b"1,2\n" * 50_000)}
    answer = client.post("/streams/calls/data", data=data, files=files)
    assert answer.status_code == 413
    assert "more than 100,000 bytes" in answer.text


def test_a_preview_is_marked_and_recorded(
    client: TestClient, signed_in: Callable[[str], str]
) -> None:
    csrf = signed_in("curator")
    files = {"file": ("a.csv", b"u,v\n1,2\n2,3\n")}
    answer = client.post("/streams/calls/preview", data={"csrf": csrf}, files=files)
    assert "contains private data, for the curator only" in answer.text
    assert "preview" in client.get("/audit").text
