"""Streams: list and create them, post node lists, snapshots and events, get their releases."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Request, Response

from psgraph.service.api.access import (
    ActionRoute,
    Caller,
    OpenStream,
    TheService,
    Timestamp,
    allowed,
    link_next,
)
from psgraph.service.downloads import (
    EDGES_TYPES,
    PARQUET,
    certificate_file,
    edges_file,
    is_large,
    nodes_file,
    released,
)
from psgraph.service.exports import export_file, report_page
from psgraph.service.private_views import preview
from psgraph.service.problems import Refusal, padded
from psgraph.service.rosters import replace_roster
from psgraph.service.schemas import (
    Accepted,
    Activity,
    NewStream,
    Preview,
    ReleaseView,
    RosterView,
    Side,
    StreamChange,
    StreamView,
    TimestampView,
)
from psgraph.service.snapshots import accept_events, accept_snapshot, recorded
from psgraph.service.uploads import received
from psgraph.service.views import release_view, stream_view, stream_views, timestamp_view

__all__ = ["posting", "releases", "router"]

router = APIRouter(route_class=ActionRoute, tags=["streams"])
releases = APIRouter(route_class=ActionRoute, tags=["releases"])
posting = APIRouter(route_class=ActionRoute, tags=["posting"])
"""Routes that take private data, for curators."""


@router.get("/streams", **allowed("list"))
def list_streams(
    service: TheService,
    caller: Caller,
    request: Request,
    response: Response,
    after: Annotated[
        str, Query(max_length=63, description="Streams whose names come after this one.")
    ] = "",
    limit: Annotated[int, Query(ge=1, le=1000)] = 1000,
    activity: Annotated[Activity | None, Query(description="Only such streams.")] = None,
) -> list[StreamView]:
    """List the streams that the caller may see, by name. A header `Link` leads to the next page."""
    seen = [
        each
        for each in service.streams.seen_by(caller)
        if each.name > after and activity in (None, each.activity)
    ]
    if len(seen) > limit:
        link_next(response, request, after=seen[limit - 1].name)
    return stream_views(service, seen[:limit], caller)


@router.post("/streams", status_code=201, **allowed("create"))
def create_stream(new: NewStream, service: TheService, caller: Caller) -> StreamView:
    """Create a stream. Its guarantee and all other terms are fixed from then on."""
    return stream_view(service, service.streams.create(new, caller), caller)


@router.get("/streams/{stream}", **allowed("list"))
def get_stream(stream: OpenStream, service: TheService, caller: Caller) -> StreamView:
    """Return the terms of a stream and its progress."""
    return stream_view(service, stream, caller)


@router.patch("/streams/{stream}", **allowed("manage"))
def change_stream(
    stream: OpenStream, change: StreamChange, service: TheService, caller: Caller
) -> StreamView:
    """Pause, archive or continue a stream, or change its title. Its guarantee never changes."""
    service.streams.change(stream, change, caller)
    service.worker.wake()
    return stream_view(service, stream, caller)


@router.post("/streams/{stream}/measure-again", **allowed("post"))
def measure_again(stream: OpenStream, service: TheService, caller: Caller) -> StreamView:
    """Continue a stream that stopped because a timestamp was measured too often, never sealed.

    Find out first why it was not sealed: its health says when it stopped, the log of the service
    what failed. The permission is recorded, and is for this timestamp only.
    """
    if not stream.stopped:
        raise Refusal(
            409,
            "not_stopped",
            "The stream has not stopped, so nothing has to be allowed.",
            "Wait for its next release.",
        )
    service.streams.measure_again(stream, caller)
    service.worker.wake()
    return stream_view(service, stream, caller)


@router.post("/streams/{stream}/catch-up", **allowed("post"))
def catch_up(stream: OpenStream, service: TheService, caller: Caller) -> StreamView:
    """Publish the periods that passed while the service was stopped.

    Check the clock of the server first: releases can't be taken back. A few missed periods are
    published without this call.
    """
    if not service.worker.missed(stream):
        raise Refusal(
            409,
            "nothing_missed",
            "The stream does not wait for missed periods.",
            "Wait for its next release.",
        )
    service.streams.catch_up(stream, caller)
    service.worker.wake()
    return stream_view(service, stream, caller)


@router.put("/streams/{stream}/roster", **allowed("post", upload=True))
async def put_roster(
    stream: OpenStream,
    request: Request,
    service: TheService,
    caller: Caller,
    side: Side | None = None,
) -> RosterView:
    """Set the public list of nodes (CSV or Parquet, one id per row). It can only grow.

    A two-sided stream has two lists: give `side`.
    """
    async with received(request, service, caller) as upload:
        return await service.in_thread(replace_roster, service, stream, upload, caller, side)


@router.get("/streams/{stream}/timestamps/{timestamp}", **allowed("list"))
def get_timestamp(stream: OpenStream, timestamp: Timestamp, service: TheService) -> TimestampView:
    """Return the state of a timestamp: waiting, due, measuring, released or refused."""
    return timestamp_view(service, stream, timestamp)


# ---- private data ----

LONGEST_WAIT = 15.0
_LOOK = 0.5  # seconds between looks for a new release

_SNAPSHOT = allowed("post", upload=True)
_SNAPSHOT["responses"] |= {200: {"model": Accepted, "description": "Released before"}}


@posting.post(
    "/streams/{stream}/snapshots/{timestamp}",
    status_code=202,
    response_model=Accepted,
    **_SNAPSHOT,
)
async def post_snapshot(
    stream: OpenStream,
    timestamp: Timestamp,
    request: Request,
    service: TheService,
    caller: Caller,
    time: Annotated[
        str | None,
        Query(
            max_length=100,
            pattern=r"^[^\x00-\x1f\x7f]+$",
            description="The public name of the timestamp; by default its number. A stream with a "
            "period names its timestamps itself.",
        ),
    ] = None,
) -> Response:
    """Post the edges of one timestamp: text/csv or application/vnd.apache.parquet, columns u, v.

    202: accepted and stored durably. 200: the same data were released before. 409: the timestamp
    already has different data, or an earlier one is missing.
    """
    async with (
        recorded(service, stream, "post snapshot", caller, timestamp=timestamp),
        received(request, service, caller) as upload,
    ):
        accepted = await service.in_thread(
            accept_snapshot, service, stream, timestamp, upload, time, caller
        )
    return padded(accepted.model_dump(), 200 if accepted.state == "released" else 202)


@posting.post(
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
    accepted and changes nothing; with different events it is refused with 409.
    """
    async with (
        recorded(service, stream, "post events", caller),
        received(request, service, caller) as upload,
    ):
        return await service.in_thread(
            accept_events, service, stream, upload, idempotency_key, caller
        )


@posting.post("/streams/{stream}/preview", **allowed("post", private=True, upload=True))
async def post_preview(
    stream: OpenStream, request: Request, service: TheService, caller: Caller
) -> Preview:
    """Return what would be read from an upload. Stores nothing. For the curator only."""
    async with (
        recorded(service, stream, "preview", caller),
        received(request, service, caller) as upload,
    ):
        return await service.in_thread(preview, service, stream, upload, caller)


# ---- releases ----


Format = Literal["parquet", "csv", "graphml", "arrow"]
ExportFormat = Literal["parquet", "csv", "graphml", "combined"]


@releases.get("/streams/{stream}/releases", **allowed("certificates"))
async def list_releases(
    stream: OpenStream,
    service: TheService,
    request: Request,
    response: Response,
    since: Annotated[int, Query(ge=0)] = 0,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
    wait: Annotated[
        float,
        Query(
            ge=0,
            le=LONGEST_WAIT,
            description="Seconds to wait until there is a release from `since` on.",
        ),
    ] = 0.0,
) -> list[ReleaseView]:
    """List releases in order. A header `Link` leads to the next page.

    With `wait` the response comes as soon as there is a new release, or without one: ask again.
    """
    certificates = await service.in_thread(stream.releases.refresh)
    if len(certificates) <= since and wait:
        async with service.waiting.place() as admitted:
            end = asyncio.get_running_loop().time() + (wait if admitted else 0.0)
            while len(certificates) <= since and asyncio.get_running_loop().time() < end:
                await asyncio.sleep(_LOOK)
                certificates = await service.in_thread(stream.releases.refresh)
    if len(certificates) > since + limit:
        link_next(response, request, since=since + limit)
    return [release_view(each) for each in certificates[since : since + limit]]


@releases.get("/streams/{stream}/releases/{timestamp}", **allowed("certificates"))
def get_release(stream: OpenStream, timestamp: Timestamp) -> ReleaseView:
    """Return one release by its certificate."""
    return release_view(released(stream, timestamp))


@releases.get(
    "/streams/{stream}/releases/{timestamp}/edges",
    response_class=Response,
    **allowed("download", files=EDGES_TYPES),
)
async def get_edges(
    stream: OpenStream,
    timestamp: Timestamp,
    request: Request,
    service: TheService,
    caller: Caller,
    format: Annotated[Format, Query()] = "parquet",
    part: Annotated[int | None, Query(ge=0)] = None,
) -> Response:
    """Download a synthetic graph. The certificate states the digest of the Parquet file.

    Parquet files are served in ranges, CSV and GraphML compressed; "arrow" is a stream of Arrow.

    A graph of many nodes is published in parts: a TAR archive of all, or one `part`.
    """
    convert = partial(edges_file, stream, timestamp, format, part, request)
    if format == "parquet" or not is_large(stream, timestamp):
        return await service.in_thread(convert)
    key = ("download", stream.name, timestamp, format, object())  # a response is used once
    return await service.checking.run(caller, key, convert)


@releases.get("/streams/{stream}/releases/{timestamp}/certificate", **allowed("certificates"))
def get_certificate(stream: OpenStream, timestamp: Timestamp, request: Request) -> Any:
    """Download the certificate, byte for byte as published."""
    return certificate_file(stream, timestamp, request)


@releases.get(
    "/streams/{stream}/releases/{timestamp}/nodes",
    response_class=Response,
    **allowed("download", files=(PARQUET,)),
)
def get_nodes(stream: OpenStream, timestamp: Timestamp, request: Request) -> Response:
    """Download the public node list of a release (Parquet)."""
    return nodes_file(stream, timestamp, request)


@releases.get(
    "/streams/{stream}/export",
    response_class=Response,
    **allowed("download", files=("application/zip",)),
)
async def get_export(
    stream: OpenStream,
    service: TheService,
    caller: Caller,
    format: Annotated[ExportFormat, Query()] = "parquet",
) -> Response:
    """Download all public files of a stream as a ZIP archive, as `psgraph export` writes it."""
    return await export_file(service, stream, format, caller)


@releases.get(
    "/streams/{stream}/report",
    response_class=Response,
    **allowed("download", files=("text/html",)),
)
async def get_report(stream: OpenStream, service: TheService, caller: Caller) -> Response:
    """Return the public report as an HTML page."""
    return await report_page(service, stream, caller)
