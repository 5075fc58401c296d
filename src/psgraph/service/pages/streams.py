"""Pages of streams: the overview, a stream, a release and its drawing; planning a new stream."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from math import exp
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse
from markupsafe import Markup
from starlette.datastructures import FormData

from psgraph._runtime.numbers import significant
from psgraph.errors import PsgraphError
from psgraph.methods.registry import method_names
from psgraph.pictures.style import method_look
from psgraph.privacy.guarantee import WEventPrivacy, exact_fraction
from psgraph.privacy.unit import Edge
from psgraph.service.api.access import Caller, OpenStream, TheService, Timestamp
from psgraph.service.api.administration import post_plan
from psgraph.service.api.streams import create_stream
from psgraph.service.downloads import released
from psgraph.service.pages.charts import (
    change_words,
    chart_sections,
    drawable,
    drawing_png,
    overlap_words,
    release_sections,
)
from psgraph.service.pages.templates import (
    PERIODS,
    named_time,
    render,
    render_stream,
    share_spent,
)
from psgraph.service.pages.visits import (
    PageRoute,
    checked_form,
    filled,
    not_found,
    open_to,
    read,
    text_of,
)
from psgraph.service.problems import Refusal, as_refusal
from psgraph.service.schemas import NewStream, PlanRequest
from psgraph.service.views import release_view, stream_view, stream_views

__all__ = ["router"]

router = APIRouter(route_class=PageRoute)

_ROWS = 50
_TERMS = ("epsilon", "window", "method", "name", "title", "source", "roster", "period")
_SCHEDULE_TERMS = ("first_period", "timezone", "delay_seconds", "missing")
_OPTIONAL_TERMS = ("labels", *_SCHEDULE_TERMS, "keep_originals_days", "kind", "weights")
_LATER = Markup(
    '<div id="charts" data-follow><section><h2>Charts</h2><div><p>The charts are being drawn. They '
    "appear here in a moment, or when the page is loaded again.</p></div></section></div>"
)
_DEFAULTS = {
    "epsilon": "1",
    "window": "7",
    "nodes": "10000",
    "degree": "",
    "method": NewStream.model_fields["method"].default,
    "keep_originals_days": "0",
}


_STATES = (
    ("", "all but archived"),
    ("ok", "OK"),
    ("waiting", "waiting"),
    ("blocked", "blocked"),
    ("archived", "archived"),
)
_SORTS = (("name", "name"), ("next", "next release"), ("spent", "share of ε spent"))
_SHOWN = 60  # streams on a page


@router.get("/", **open_to("list"))
def show_streams(
    request: Request,
    service: TheService,
    caller: Caller,
    q: Annotated[str, Query(max_length=100)] = "",
    health: Literal["", "ok", "waiting", "blocked", "archived"] = "",
    sort: Literal["name", "next", "spent"] = "name",
    page: Annotated[int, Query(ge=0, le=100_000)] = 0,
) -> Response:
    """Show the streams that the visitor may see, or those that match a search."""
    seen = [
        each
        for each in service.streams.seen_by(caller)
        if (each.activity == "archived") == (health == "archived")
        and q.lower() in f"{each.name} {each.title}".lower()
    ]
    quick = sort == "name" and health in ("", "archived")  # views only of what is shown
    here = slice(page * _SHOWN, (page + 1) * _SHOWN)
    views = stream_views(service, seen[here] if quick else seen, caller)
    if not quick:
        views = [each for each in views if health in ("", "archived", each.health)]
        if sort == "next":
            views.sort(key=lambda each: (each.next_tick is None, each.next_tick or ""))
        elif sort == "spent":
            views.sort(key=lambda each: -share_spent(each))
    found = len(seen) if quick else len(views)
    backlog = service.queue.backlog() if caller.may("post") else {}
    backlog = {each.name: backlog[each.name] for each in seen if each.name in backlog}
    return render(
        request,
        "streams.html",
        "Streams",
        subtitle="Graphs that change over time, published under a privacy budget.",
        streams=views if quick else views[here],
        found=found,
        more=max(found - 1, 0) // _SHOWN,
        page=page,
        searching=bool(q or health),
        chosen={"q": q, "health": health, "sort": sort},
        query=urlencode({"q": q, "health": health, "sort": sort}),
        states=_STATES,
        sorts=_SORTS,
        backlog=backlog,
        waiting=sum(backlog.values()),
    )


@router.get("/streams/{stream}", **open_to("list"))
async def show_stream(
    request: Request,
    stream: OpenStream,
    service: TheService,
    caller: Caller,
    before: Annotated[int | None, Query(ge=0)] = None,
) -> Response:
    """Show a stream: its promise, spending and releases."""
    view = await service.in_thread(stream_view, service, stream, caller)
    certificates = stream.releases.refresh()
    end = len(certificates) if before is None else min(before, len(certificates))
    start = max(0, end - _ROWS)
    context: dict[str, Any] = {}
    if certificates:
        last = certificates[-1]
        charts, change = await asyncio.gather(
            _or_later(chart_sections(service, stream, caller)),
            change_words(service, stream, last.timestamp, caller),
        )
        context = {
            "latest": release_view(last),
            "change": change,
            "drawing": caller.may("download") and drawable(last),
            "charts": charts,
        }
    return render_stream(
        request,
        "stream.html",
        view,
        releases=[release_view(each) for each in reversed(certificates[start:end])],
        older=start,
        **context,
    )


async def _nothing() -> Markup:
    return Markup("")


async def _or_later(drawing: Awaitable[Markup]) -> Markup:
    """Return sections with charts, or a place where they appear once they are drawn."""
    try:
        return Markup('<div id="charts">{}</div>').format(await drawing)
    except Refusal:
        return _LATER


@router.get("/streams/{stream}/releases/{timestamp}", **open_to("certificates"))
async def show_release(
    request: Request,
    stream: OpenStream,
    timestamp: Timestamp,
    service: TheService,
    caller: Caller,
) -> Response:
    """Show a release: its graph, downloads, certificate and verification."""
    certificate = released(stream, timestamp)
    view = await service.in_thread(stream_view, service, stream)
    charts: Awaitable[Markup] = (
        _or_later(release_sections(service, stream, timestamp, caller))
        if caller.may("download")
        else _nothing()
    )
    change = change_words(service, stream, timestamp, caller)
    drawn, words = await asyncio.gather(charts, change)
    named = named_time(timestamp, certificate.time)
    time = f", {named}" if named else ""
    return render(
        request,
        "release.html",
        f"Release {timestamp}{time}",
        stream=view,
        release=release_view(certificate),
        certificate=certificate,
        change=words,
        charts=drawn,
        drawing=caller.may("download") and drawable(certificate),
        files=f"/api/v1/streams/{view.name}/releases/{timestamp}",
        window_share=float(certificate.window_spent / certificate.guarantee.epsilon),
    )


@router.get("/streams/{stream}/compare", **open_to("download"))
async def compare_releases(
    request: Request,
    stream: OpenStream,
    service: TheService,
    caller: Caller,
    a: Annotated[int | None, Query(ge=0, le=999_999_999)] = None,
    b: Annotated[int | None, Query(ge=0, le=999_999_999)] = None,
) -> Response:
    """Show what two releases have in common."""
    view = await service.in_thread(stream_view, service, stream, caller)
    chosen, words, problem = [], "", None
    if a is not None and b is not None:
        try:
            chosen = [release_view(released(stream, each)) for each in (a, b)]
            words = await overlap_words(service, stream, a, b, caller)
        except Refusal as refusal:
            problem = refusal
    last = view.released - 1
    return render_stream(
        request,
        "compare.html",
        view,
        status=200 if problem is None else problem.status,
        error=problem,
        chosen=chosen,
        words=words,
        a=max(last - 1, 0) if a is None else a,
        b=max(last, 0) if b is None else b,
        last=last,
    )


@router.get("/streams/{stream}/releases/{timestamp}/drawing.png", **open_to("download"))
async def show_drawing(
    stream: OpenStream, timestamp: Timestamp, service: TheService, caller: Caller
) -> Response:
    """Return the drawing of a synthetic graph."""
    certificate = released(stream, timestamp)
    if not drawable(certificate):
        raise not_found()
    picture = await drawing_png(service, stream, certificate, caller)
    return Response(picture, media_type="image/png", headers={"Cache-Control": "private, no-store"})


# ---- a new stream, for curators ----


@router.get("/new", **open_to("create"))
def show_planner(request: Request) -> Response:
    """Show the budget planner and the form of a new stream."""
    return _form(request, FormData(_DEFAULTS))


@router.post("/new/plan", **open_to("create"))
async def show_plan(request: Request, service: TheService) -> Response:
    """Show the plan for the values in the form."""
    return await service.in_thread(_form, request, await checked_form(request))


@router.post("/new", **open_to("create"))
async def create(request: Request, service: TheService, caller: Caller) -> Response:
    """Create a stream."""
    form = await checked_form(request)
    try:
        new = read(NewStream, _terms(form))
        await service.in_thread(create_stream, new, service, caller)
    except (Refusal, PsgraphError) as error:
        refusal = error if isinstance(error, Refusal) else as_refusal(error)
        return await service.in_thread(_form, request, form, refusal)
    return RedirectResponse(f"/streams/{new.name}/data?done=created", 303)


def _terms(form: FormData) -> dict[str, Any]:
    """Return the terms of a stream; some apply only with a schedule."""
    terms = {**filled(form, *_TERMS, *_OPTIONAL_TERMS), "public": bool(text_of(form, "public"))}
    if "period" not in terms:
        for name in _SCHEDULE_TERMS:
            terms.pop(name, None)
    return terms


def _form(request: Request, form: FormData, error: Refusal | None = None) -> Response:
    plan, problem = None, None
    try:
        plan = _plan(form)
    except Refusal as refusal:
        problem = refusal
    except PsgraphError as failure:
        problem = as_refusal(failure)
    return render(
        request,
        "new.html",
        "New stream",
        subtitle="Plan the privacy budget first. No data are read, and nothing is spent.",
        status=200 if error is None else error.status,
        error=error,
        values={
            name: text_of(form, name)
            for name in (*_TERMS, *_OPTIONAL_TERMS, "nodes", "degree", "public")
        },
        methods=[(name, method_look(name).title) for name in method_names()],
        periods=PERIODS.items(),
        plan=plan,
        plan_error=problem,
        unit=Edge(),
    )


def _plan(form: FormData) -> dict[str, Any]:
    """Return the API's plan for the form, with e^ε to a few digits and what ε means."""
    values = filled(form, "epsilon", "window", "nodes", "method")
    degree = text_of(form, "degree")
    if degree:
        values["edges"] = _edges(text_of(form, "nodes"), degree)
    planned = read(PlanRequest, values)
    plan = post_plan(planned)
    provides = plan["provides_epsilon"]
    return {
        **plan,
        "factor": significant(exp(min(float(exact_fraction(planned.epsilon)), 100.0))),
        "meaning": WEventPrivacy(provides, planned.window).meaning if provides else "",
    }


def _edges(nodes: str, degree: str) -> int:
    try:
        return round(int(nodes) * float(degree) / 2)
    except (ValueError, OverflowError):
        raise Refusal(
            422, "invalid", "The mean degree is not a number.", "Enter one such as 8, or none."
        ) from None
