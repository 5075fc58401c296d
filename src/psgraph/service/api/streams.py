"""Streams: list, create, look at, and their public node lists."""

from __future__ import annotations

from fastapi import APIRouter, Request

from psgraph.service.api.access import (
    ActionRoute,
    Caller,
    OpenStream,
    TheService,
    Timestamp,
    allowed,
)
from psgraph.service.api.receiving import received
from psgraph.service.rosters import replace_roster
from psgraph.service.schemas import NewStream, RosterView, StreamView, TimestampView
from psgraph.service.states import timestamp_view
from psgraph.service.views import stream_view

__all__ = ["router"]

router = APIRouter(route_class=ActionRoute, tags=["streams"])


@router.get("/streams", **allowed("list"))
def list_streams(service: TheService, caller: Caller) -> list[StreamView]:
    """List the streams that the caller may see."""
    return [stream_view(service, each) for each in service.streams.seen_by(caller)]


@router.post("/streams", status_code=201, **allowed("create"))
def create_stream(new: NewStream, service: TheService, caller: Caller) -> StreamView:
    """Create a stream. Its guarantee and everything else in the request stay fixed."""
    return stream_view(service, service.streams.create(new, caller))


@router.get("/streams/{stream}", **allowed("list"))
def get_stream(stream: OpenStream, service: TheService) -> StreamView:
    """Return the terms of a stream and what is public about its progress."""
    return stream_view(service, stream)


@router.put("/streams/{stream}/roster", **allowed("post", upload=True))
async def put_roster(
    stream: OpenStream, request: Request, service: TheService, caller: Caller
) -> RosterView:
    """Set the public list of nodes (CSV or Parquet, one id a row). It can only grow."""
    async with received(request, service) as upload:
        return await service.in_thread(replace_roster, service, stream, upload, caller)


@router.get("/streams/{stream}/timestamps/{timestamp}", **allowed("list"))
def get_timestamp(stream: OpenStream, timestamp: Timestamp, service: TheService) -> TimestampView:
    """Return the state of a timestamp: waiting, due, measuring, released or refused."""
    return timestamp_view(service, stream, timestamp)
