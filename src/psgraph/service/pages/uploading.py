"""A form with a file, read as it arrives: the fields first, then the file, straight to its place.

Private data is never held in memory or in a directory for temporary files: its pieces go from the
request to the upload, within the same limits as a request to the API.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import Request
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import ClientDisconnect

from psgraph.service.api.receiving import received_from
from psgraph.service.pages.visits import check_csrf, refuse_cross_site
from psgraph.service.problems import Refusal
from psgraph.service.service import Service
from psgraph.service.uploads import Upload

__all__ = ["FileForm", "open_form"]

_MOST_FIELDS, _LONGEST_FIELD, _SECONDS_FOR_FIELDS = 20, 10_000, 30
_MEDIA_TYPES = {"parquet": "application/vnd.apache.parquet"}


class FileForm:
    """A form whose last field is a file, read up to the start of the file.

    Attributes
    ----------
    fields
        The other fields by name.
    """

    def __init__(self, request: Request) -> None:
        self.fields: dict[str, str] = {}
        self._stream = request.stream()
        self._pieces: deque[bytes] = deque()
        self._filename: str | None = None
        self._in_file = self._ended = False
        self._header, self._value = b"", b""
        self._name, self._text = "", b""
        kind, options = parse_options_header(request.headers.get("content-type"))
        if kind != b"multipart/form-data" or not options.get(b"boundary"):
            raise _unreadable()
        self._parser = MultipartParser(
            options[b"boundary"],
            {
                "on_part_begin": self._begin_part,
                "on_header_field": self._add_header,
                "on_header_value": self._add_value,
                "on_header_end": self._end_header,
                "on_part_data": self._add_data,
                "on_part_end": self._end_part,
            },
        )

    async def read_fields(self) -> None:
        """Read up to the start of the file, or to the end of a form without one."""
        while not self._in_file and not self._ended:
            await self._advance()

    async def chunks(self) -> AsyncIterator[bytes]:
        """The content of the file, piece by piece."""
        while True:
            while self._pieces:
                yield self._pieces.popleft()
            if self._ended:
                return
            await self._advance()

    @asynccontextmanager
    async def received(self, service: Service) -> AsyncIterator[Upload]:
        """Receive the file; it is deleted at the end of the block."""
        if not self._filename:
            raise Refusal(422, "no_file", "No file was chosen.", "Choose a CSV or Parquet file.")
        ending = self._filename.lower().rpartition(".")[2]
        media_type = _MEDIA_TYPES.get(ending, "text/csv")
        async with received_from(self.chunks(), media_type, service) as upload:
            yield upload

    async def _advance(self) -> None:
        """Parse what arrives next."""
        try:
            chunk = await anext(self._stream, b"")
            if chunk:
                self._parser.write(chunk)
        except (FormParserError, ClientDisconnect):
            raise _unreadable() from None
        if not chunk:
            if self._in_file:  # its end is missing, and it would be accepted cut short
                raise _unreadable()
            self._ended = True

    # ---- called by the parser ----

    def _begin_part(self) -> None:
        self._name, self._text = "", b""

    def _add_header(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _add_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _end_header(self) -> None:
        if self._header.lower() == b"content-disposition":
            _, options = parse_options_header(self._value)
            self._name = options.get(b"name", b"").decode(errors="replace")
            if b"filename" in options and not self._in_file:
                self._in_file = True
                self._filename = options[b"filename"].decode(errors="replace")
        self._header, self._value = b"", b""

    def _add_data(self, data: bytes, start: int, end: int) -> None:
        if self._in_file:
            self._pieces.append(data[start:end])
            return
        self._text += data[start:end]
        if len(self._text) > _LONGEST_FIELD:
            raise _unreadable()

    def _end_part(self) -> None:
        if self._in_file:
            self._ended = True  # whatever follows the file is ignored
            return
        self.fields[self._name] = self._text.decode(errors="replace").strip()
        if len(self.fields) > _MOST_FIELDS:
            raise _unreadable()


async def open_form(request: Request) -> FileForm:
    """Read a form up to its file, and refuse one that no page of this session sent."""
    refuse_cross_site(request)
    form = FileForm(request)
    try:
        async with asyncio.timeout(_SECONDS_FOR_FIELDS):
            await form.read_fields()
    except TimeoutError:
        raise _unreadable() from None
    check_csrf(request, form.fields.get("csrf"))
    return form


def _unreadable() -> Refusal:
    return Refusal(400, "bad_request", "The form can't be read.", "Open the page again.")
