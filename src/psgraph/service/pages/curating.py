"""Pages for curators: plan and create a stream, and see its quality."""

from __future__ import annotations

from math import exp
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from starlette.datastructures import FormData

from psgraph._runtime.numbers import significant
from psgraph.errors import PsgraphError
from psgraph.methods.base import method_names
from psgraph.pictures.style import method_look
from psgraph.privacy.guarantee import exact_fraction
from psgraph.privacy.unit import Edge
from psgraph.service.api.access import Caller, OpenStream, TheService
from psgraph.service.api.administration import post_plan
from psgraph.service.api.streams import create_stream
from psgraph.service.comparing import quality_report
from psgraph.service.pages.forms import filled, read, text_of
from psgraph.service.pages.rendering import render, render_stream
from psgraph.service.pages.visits import PageRoute, checked_form, open_to
from psgraph.service.pages.wording import PERIODS
from psgraph.service.problems import Refusal, as_refusal
from psgraph.service.schemas import NewStream, PlanRequest
from psgraph.service.views import stream_view

__all__ = ["router"]

router = APIRouter(route_class=PageRoute)

_TEXTS = ("epsilon", "window", "method", "name", "title", "source", "roster", "period")
_MORE = ("first_period", "missing", "keep_originals_days")
_START = {
    "epsilon": "1",
    "window": "7",
    "nodes": "10000",
    "degree": "",
    "method": NewStream.model_fields["method"].default,
    "keep_originals_days": "0",
}


@router.get("/new", **open_to("create"))
def show_planner(request: Request) -> Response:
    """Show the budget planner and the form of a new stream."""
    return _form(request, FormData(_START))


@router.post("/new/plan", **open_to("create"))
async def show_plan(request: Request, service: TheService) -> Response:
    """Show the plan of what is in the form."""
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
    """The terms of a stream; what to do about a missing snapshot matters with a schedule only."""
    terms = {**filled(form, *_TEXTS, *_MORE), "public": bool(text_of(form, "public"))}
    if "period" not in terms:
        terms.pop("missing", None)
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
        subtitle="Plan the privacy budget first. No data is read, and nothing is spent.",
        status=200 if error is None else error.status,
        error=error,
        values={
            name: text_of(form, name) for name in (*_TEXTS, *_MORE, "nodes", "degree", "public")
        },
        methods=[(name, method_look(name).title) for name in method_names()],
        periods=PERIODS.items(),
        plan=plan,
        plan_error=problem,
        unit=Edge(),
    )


def _plan(form: FormData) -> dict[str, Any]:
    """The plan that the API returns for the form, and e^ε in a few digits."""
    values = filled(form, "epsilon", "window", "nodes", "method")
    degree = text_of(form, "degree")
    if degree:
        values["edges"] = _edges(text_of(form, "nodes"), degree)
    asked = read(PlanRequest, values)
    plan = post_plan(asked)
    return {**plan, "factor": significant(exp(min(float(exact_fraction(asked.epsilon)), 100.0)))}


def _edges(nodes: str, degree: str) -> int:
    try:
        return round(int(nodes) * float(degree) / 2)
    except (ValueError, OverflowError):
        raise Refusal(
            422, "invalid", "The mean degree is not a number.", "Give one such as 8, or none."
        ) from None


@router.get("/streams/{stream}/quality", **open_to("compare"))
def show_quality(request: Request, stream: OpenStream, service: TheService) -> Response:
    """Say whether there is a quality report, and what it is."""
    view = stream_view(service, stream)
    return render_stream(
        request,
        "quality.html",
        view,
    )


@router.post("/streams/{stream}/quality", **open_to("compare", private=True))
async def open_quality_report(
    request: Request, stream: OpenStream, service: TheService, caller: Caller
) -> Response:
    """Return the quality report. Contains private data: for the curator only."""
    await checked_form(request)
    report: Response = await service.in_thread(quality_report, service, stream, caller)
    return report
