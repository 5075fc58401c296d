"""Posting private data: snapshots, events and previews. For curators."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Query, Request, Response

from psgraph.service.api.access import (
    ActionRoute,
    Caller,
    OpenStream,
    TheService,
    Timestamp,
    allowed,
)
from psgraph.service.api.receiving import received
from psgraph.service.events import accept_events
from psgraph.service.previews import preview
from psgraph.service.schemas import Accepted, Preview
from psgraph.service.snapshots import accept_snapshot

__all__ = ["router"]

router = APIRouter(route_class=ActionRoute, tags=["posting"])

_SNAPSHOT = allowed("post", upload=True)
_SNAPSHOT["responses"] |= {200: {"model": Accepted, "description": "Released before"}}


@router.post(
    "/streams/{stream}/snapshots/{timestamp}",
    status_code=202,
    **_SNAPSHOT,
)
async def post_snapshot(
    stream: OpenStream,
    timestamp: Timestamp,
    request: Request,
    response: Response,
    service: TheService,
    caller: Caller,
    time: Annotated[
        str | None,
        Query(
            max_length=100,
            pattern=r"^[^\x00-\x1f\x7f]+$",
            description="The public name of the timestamp; its number unless given. A stream with "
            "a period names its timestamps itself.",
        ),
    ] = None,
) -> Accepted:
    """Post the edges of one timestamp: text/csv or application/vnd.apache.parquet, columns u, v.

    202: accepted and stored durably. 200: the same data were released before. 409: the timestamp
    has other data already, or an earlier one is missing.
    """
    async with received(request, service) as upload:
        accepted = await service.in_thread(
            accept_snapshot, service, stream, timestamp, upload, time, caller
        )
    if accepted.state == "released":
        response.status_code = 200
    return accepted


@router.post(
    "/streams/{stream}/events", status_code=202, **allowed("post", private=True, upload=True)
)
async def post_events(
    stream: OpenStream,
    request: Request,
    service: TheService,
    caller: Caller,
    idempotency_key: Annotated[
        str, Header(min_length=8, max_length=100, pattern=r"^[A-Za-z0-9._:-]+$")
    ],
) -> Accepted:
    """Post events: text/csv or application/vnd.apache.parquet with columns u, v, time.

    They are cut at the ticks of the stream. A repeated Idempotency-Key with the same events is
    accepted and changes nothing; with other events it is refused with 409.
    """
    async with received(request, service) as upload:
        return await service.in_thread(
            accept_events, service, stream, upload, idempotency_key, caller
        )


@router.post("/streams/{stream}/preview", **allowed("post", private=True, upload=True))
async def post_preview(
    stream: OpenStream, request: Request, service: TheService, caller: Caller
) -> Preview:
    """Return what would be read of an upload. Stores nothing; the answer is for the curator."""
    async with received(request, service) as upload:
        return await service.in_thread(preview, service, stream, upload, caller)
