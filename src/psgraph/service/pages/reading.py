"""Pages for everyone who may see a stream: the overview, a stream, a release and its drawing."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from psgraph.service.api.access import Caller, OpenStream, TheService, Timestamp
from psgraph.service.api.streams import list_streams
from psgraph.service.pages.charts import change_words, chart_sections, drawable, drawing_png
from psgraph.service.pages.rendering import render, render_stream
from psgraph.service.pages.visits import PageRoute, not_found, open_to
from psgraph.service.pages.wording import named_time
from psgraph.service.views import release_view, stream_view

__all__ = ["router"]

router = APIRouter(route_class=PageRoute)

_ROWS = 50


@router.get("/", **open_to("list"))
def show_streams(request: Request, service: TheService, caller: Caller) -> Response:
    """Show all streams that the visitor may see."""
    return render(
        request,
        "streams.html",
        "Streams",
        subtitle="Graphs that change over time, published under a privacy budget.",
        streams=list_streams(service, caller),
    )


@router.get("/streams/{stream}", **open_to("list"))
def show_stream(
    request: Request,
    stream: OpenStream,
    service: TheService,
    caller: Caller,
    before: Annotated[int | None, Query(ge=0)] = None,
) -> Response:
    """Show a stream: promise, spending, releases over time."""
    view = stream_view(service, stream)
    certificates = stream.shelf.certificates()
    end = len(certificates) if before is None else min(before, len(certificates))
    start = max(0, end - _ROWS)
    context: dict[str, Any] = {}
    if certificates:
        last = certificates[-1]
        context = {
            "latest": release_view(last),
            "change": change_words(stream.out, certificates, last.timestamp),
            "drawing": caller.may("download") and drawable(last),
            "charts": chart_sections(stream.out, certificates),
        }
    return render_stream(
        request,
        "stream.html",
        view,
        releases=[release_view(each) for each in reversed(certificates[start:end])],
        older=start,
        **context,
    )


@router.get("/streams/{stream}/releases/{timestamp}", **open_to("certificates"))
def show_release(
    request: Request,
    stream: OpenStream,
    timestamp: Timestamp,
    service: TheService,
    caller: Caller,
) -> Response:
    """Show a release: its graph, downloads, certificate and verification."""
    certificate = stream.shelf.certificate(timestamp)
    view = stream_view(service, stream)
    named = named_time(timestamp, certificate.time)
    time = f", {named}" if named else ""
    return render(
        request,
        "release.html",
        f"Release {timestamp}{time}",
        stream=view,
        release=release_view(certificate),
        certificate=certificate,
        change=change_words(stream.out, stream.shelf.certificates(), timestamp),
        drawing=caller.may("download") and drawable(certificate),
        files=f"/api/v1/streams/{view.name}/releases/{timestamp}",
        window_share=float(certificate.window_spent / certificate.guarantee.epsilon),
    )


@router.get("/streams/{stream}/releases/{timestamp}/drawing.png", **open_to("download"))
def show_drawing(stream: OpenStream, timestamp: Timestamp) -> Response:
    """Return the drawing of a synthetic graph."""
    certificate = stream.shelf.certificate(timestamp)
    if not drawable(certificate):
        raise not_found()
    picture = drawing_png(stream.out, certificate)
    return Response(picture, media_type="image/png", headers={"Cache-Control": "private, no-store"})
