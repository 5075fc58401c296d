"""The curator's page to add data: the roster, previews, snapshots and events."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse

from psgraph.service.api.access import Caller, OpenStream, TheService
from psgraph.service.events import accept_events
from psgraph.service.pages.rendering import render_stream
from psgraph.service.pages.uploading import open_form
from psgraph.service.pages.visits import PageRoute, open_to
from psgraph.service.previews import preview
from psgraph.service.problems import Refusal
from psgraph.service.rosters import replace_roster
from psgraph.service.schemas import Preview, StreamView, TimestampView
from psgraph.service.service import Service
from psgraph.service.snapshots import accept_snapshot
from psgraph.service.states import timestamp_view
from psgraph.service.streams import Stream
from psgraph.service.views import stream_view

__all__ = ["router"]

router = APIRouter(route_class=PageRoute)

_LARGEST = 999_999_999
_KEY = re.compile(r"[0-9a-f]{32}", re.ASCII)


@router.get("/streams/{stream}/data", **open_to("post"))
def show_data(
    request: Request,
    stream: OpenStream,
    service: TheService,
    posted: Annotated[int | None, Query(ge=0, le=_LARGEST)] = None,
) -> Response:
    """Show the forms, and the state of a timestamp that was just posted."""
    return _page(request, service, stream, posted=posted)


@router.post("/streams/{stream}/roster", **open_to("post"))
async def upload_roster(
    request: Request, stream: OpenStream, service: TheService, caller: Caller
) -> Response:
    """Set or extend the public roster."""
    form = await open_form(request)
    try:
        async with form.received(service) as upload:
            await service.in_thread(replace_roster, service, stream, upload, caller)
    except Refusal as refusal:
        return await service.in_thread(_page, request, service, stream, error=refusal)
    return RedirectResponse(f"/streams/{stream.name}/data?done=roster", 303)


@router.post("/streams/{stream}/preview", **open_to("post", private=True))
async def show_preview(
    request: Request, stream: OpenStream, service: TheService, caller: Caller
) -> Response:
    """Show what would be read of a file. Contains private data: for the curator only."""
    form = await open_form(request)
    found, problem = None, None
    try:
        async with form.received(service) as upload:
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
        async with form.received(service) as upload:
            if stream.terms.source == "events":
                key = _key(form.fields.get("key", ""))
                await service.in_thread(accept_events, service, stream, upload, key, caller)
            else:
                timestamp = _timestamp(form.fields.get("timestamp", ""))
                time = form.fields.get("time") or None
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
    """The timestamp to post next: after the one that is being published."""
    if posted is None or posted.state == "refused":
        return view.next_timestamp
    return max(view.next_timestamp, posted.timestamp + 1)


def _key(text: str) -> str:
    """The key that the form brought along: sent twice, it is accepted once."""
    return text if _KEY.fullmatch(text) else secrets.token_hex(16)


def _timestamp(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) <= _LARGEST):
        raise Refusal(
            422, "invalid", "The timestamp is not a number from 0.", "Use the one suggested."
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
        following=unfinished and not view.period,  # a tick may be a day away
        key=secrets.token_hex(16),
        preview=found,
        preview_error=preview_error,
    )
