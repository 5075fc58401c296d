"""The curator's page to add data: the roster, previews, snapshots and events.

A form with a file is read as it arrives: the fields first, then the file. Private data are never
held in memory or in a directory for temporary files: they go piece by piece from the request to the
upload, within the same limits as a request to the API.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Annotated, get_args

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import ClientDisconnect

from psgraph.service.api.access import Caller, OpenStream, TheService
from psgraph.service.pages.templates import render_stream
from psgraph.service.pages.visits import PageRoute, check_csrf, open_to, refuse_cross_site
from psgraph.service.permissions import Identity
from psgraph.service.private_views import preview
from psgraph.service.problems import Refusal
from psgraph.service.rosters import replace_roster
from psgraph.service.schemas import Preview, Side, StreamView, TimestampView
from psgraph.service.service import Service
from psgraph.service.snapshots import accept_events, accept_snapshot, recorded
from psgraph.service.streams import Stream
from psgraph.service.uploads import Upload, received_from
from psgraph.service.views import stream_view, timestamp_view

__all__ = ["FileForm", "open_form", "router"]

router = APIRouter(route_class=PageRoute)

_LARGEST = 999_999_999
_RECENT = 100  # entries of the log
_KEY = re.compile(r"[0-9a-f]{32}", re.ASCII)
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
                "on_part_begin": self._start_part,
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
        """Yield the content of the file, piece by piece."""
        while True:
            while self._pieces:
                yield self._pieces.popleft()
            if self._ended:
                return
            await self._advance()

    @asynccontextmanager
    async def received(self, service: Service, caller: Identity) -> AsyncIterator[Upload]:
        """Receive the file; it is deleted at the end of the block."""
        if not self._filename:
            raise Refusal(422, "no_file", "No file was chosen.", "Choose a CSV or Parquet file.")
        ending = self._filename.lower().rpartition(".")[2]
        media_type = _MEDIA_TYPES.get(ending, "text/csv")
        async with received_from(self.chunks(), media_type, service, caller) as upload:
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
            if self._in_file:  # cut short: its end is missing
                raise _unreadable()
            self._ended = True

    # ---- called by the parser ----

    def _start_part(self) -> None:
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
            self._ended = True  # ignore what follows the file
            return
        self.fields[self._name] = self._text.decode(errors="replace").strip()
        if len(self.fields) > _MOST_FIELDS:
            raise _unreadable()


async def open_form(request: Request) -> FileForm:
    """Read a form up to its file; refuse one that no page of this session sent."""
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
    return Refusal(400, "bad_request", "The form can't be read.", "Reload the page.")


# ---- pages ----


@router.get("/streams/{stream}/data", **open_to("post"))
def show_data(
    request: Request,
    stream: OpenStream,
    service: TheService,
    caller: Caller,
    posted: Annotated[int | None, Query(ge=0, le=_LARGEST)] = None,
) -> Response:
    """Show the forms, and the state of a timestamp that was just posted."""
    also_in: list[str] = []
    if posted is not None:  # from the log: an address ends up in other logs
        recent = service.audit.page(caller, "curators", before=None, limit=_RECENT).entries
        posts = [each for each in recent if (each.stream, each.timestamp) == (stream.name, posted)]
        also_in = posts[0].also_in if posts else []
    return _page(request, service, stream, posted=posted, also_in=also_in)


@router.post("/streams/{stream}/roster", **open_to("post"))
async def upload_roster(
    request: Request, stream: OpenStream, service: TheService, caller: Caller
) -> Response:
    """Set or extend the public roster."""
    form = await open_form(request)
    try:
        async with form.received(service, caller) as upload:
            side = form.fields.get("side")
            chosen: Side | None = side if side in get_args(Side) else None  # type: ignore[assignment]
            await service.in_thread(replace_roster, service, stream, upload, caller, chosen)
    except Refusal as refusal:
        return await service.in_thread(_page, request, service, stream, error=refusal)
    return RedirectResponse(f"/streams/{stream.name}/data?done=roster", 303)


@router.post("/streams/{stream}/preview", **open_to("post", private=True))
async def show_preview(
    request: Request, stream: OpenStream, service: TheService, caller: Caller
) -> Response:
    """Show what would be read from a file. Contains private data: for the curator only."""
    form = await open_form(request)
    found, problem = None, None
    try:
        async with (
            recorded(service, stream, "preview", caller),
            form.received(service, caller) as upload,
        ):
            found = await service.in_thread(preview, service, stream, upload, caller)
    except Refusal as refusal:
        problem = refusal
    return await service.in_thread(
        _page, request, service, stream, found=found, preview_error=problem
    )


@router.post("/streams/{stream}/data", **open_to("post", private=True))
async def post_data(
    request: Request, stream: OpenStream, service: TheService, caller: Caller
) -> Response:
    """Accept a snapshot, or events."""
    form = await open_form(request)
    address = f"/streams/{stream.name}/data?done=accepted"
    try:
        if stream.terms.source == "events":
            key = _key(form.fields.get("key", ""))
            async with (
                recorded(service, stream, "post events", caller),
                form.received(service, caller) as upload,
            ):
                await service.in_thread(accept_events, service, stream, upload, key, caller)
        else:
            timestamp = _timestamp(form.fields.get("timestamp", ""))
            time = form.fields.get("time") or None
            async with (
                recorded(service, stream, "post snapshot", caller, timestamp=timestamp),
                form.received(service, caller) as upload,
            ):
                await service.in_thread(
                    accept_snapshot, service, stream, timestamp, upload, time, caller
                )
            address += f"&posted={timestamp}"
    except Refusal as refusal:
        return await service.in_thread(
            _page, request, service, stream, error=refusal, typed=form.fields
        )
    return RedirectResponse(address, 303)


def _suggested(view: StreamView, posted: TimestampView | None) -> int:
    """Return the timestamp to post next, after the one being published."""
    if posted is None or posted.state == "refused":
        return view.next_timestamp
    return max(view.next_timestamp, posted.timestamp + 1)


def _key(text: str) -> str:
    """Return the key of the form, so that a form sent twice is accepted once."""
    return text if _KEY.fullmatch(text) else secrets.token_hex(16)


def _timestamp(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) <= _LARGEST):
        raise Refusal(
            422, "invalid", "The timestamp is not an integer from 0.", "Use the suggested one."
        )
    return int(text)


def _page(
    request: Request,
    service: Service,
    stream: Stream,
    *,
    typed: Mapping[str, str] | None = None,
    error: Refusal | None = None,
    posted: int | None = None,
    also_in: Sequence[str] = (),
    found: Preview | None = None,
    preview_error: Refusal | None = None,
) -> Response:
    view = stream_view(service, stream)
    status = None if posted is None else timestamp_view(service, stream, posted)
    unfinished = status is not None and status.state in ("waiting", "due", "measuring")
    wrong = error or preview_error
    return render_stream(
        request,
        "data.html",
        view,
        status=200 if wrong is None else wrong.status,
        error=error,
        timestamp=(typed or {}).get("timestamp") or _suggested(view, status),
        time=(typed or {}).get("time", ""),
        most=service.settings.limits.upload_bytes,
        progress=status,
        also_in=also_in if found is None else found.also_in,
        following=unfinished and not view.period,  # a tick may be a day away
        key=secrets.token_hex(16),
        preview=found,
        preview_error=preview_error,
    )
