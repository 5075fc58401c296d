"""Errors over HTTP and log lines: one shape, one size, and nothing private in either.

Every error is a problem of RFC 9457 (``application/problem+json``) with ``error``, a code,
``message``, the fact, and ``remedy``, what to do; padded with blanks so that its size reveals
nothing. Messages about uploads are constant: only a preview says what is
wrong with private data, and only to the curator.

The log is one line of JSON for each event, on standard error. A line holds public values: names of
streams and routes, timestamps, status codes. It never holds a query string, a body, a token, an
address, or the text of an unexpected error.
"""

from __future__ import annotations

import errno
import json
import os
import sqlite3
import sys
import threading
import traceback
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from psgraph.errors import (
    BudgetExceeded,
    InvalidArgument,
    LedgerBusy,
    OutputError,
    PsgraphError,
    VerificationFailed,
)
from psgraph.service.clock import now_text

__all__ = [
    "PROBLEM",
    "Refusal",
    "add_handlers",
    "as_refusal",
    "failure",
    "internal",
    "log",
    "padded",
    "problem",
    "refusal_of",
    "unavailable",
]

_LOCK = threading.Lock()


def log(event: str, **facts: str | float | None) -> None:
    """Write one line of the log."""
    line = json.dumps({"at": now_text(), "event": event, **facts}, ensure_ascii=False)
    with _LOCK:
        print(line, file=sys.stderr, flush=True)


PROBLEM = "application/problem+json"
SIZE = 1024
"""Errors and responses to snapshots are padded to a multiple of this many bytes."""


class Refusal(Exception):
    """A request that is refused: the status, a code for machines, the fact and the remedy."""

    def __init__(
        self,
        status: int,
        error: str,
        message: str,
        remedy: str,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.error, self.message, self.remedy = status, error, message, remedy
        self.headers = dict(headers or {})


def problem(refusal: Refusal) -> Response:
    """Return the response to a refusal."""
    content = {
        "status": refusal.status,
        "title": HTTPStatus(refusal.status).phrase,
        "error": refusal.error,
        "message": refusal.message,
        "remedy": refusal.remedy,
    }
    return padded(content, refusal.status, refusal.headers, media_type=PROBLEM)


def padded(
    content: Mapping[str, object],
    status: int,
    headers: Mapping[str, str] | None = None,
    *,
    media_type: str = "application/json",
) -> Response:
    """Return a response in JSON whose size reveals nothing about its content."""
    text = json.dumps(content, ensure_ascii=False).encode()
    text += b" " * (-len(text) % SIZE)
    headers = {"Cache-Control": "no-store", **(headers or {})}
    return Response(text, status, headers, media_type=media_type)


_BY_STATUS = {
    400: ("bad_request", "The request can't be read.", "Check its form and try again."),
    404: ("not_found", "There is nothing at this address.", "Check the address."),
    405: (
        "method_not_allowed",
        "This address does not support this method.",
        "See /api/v1/openapi.json for the methods it supports.",
    ),
    408: ("too_slow", "The body of the request took too long to arrive.", "Send it again."),
    413: ("too_large", "The request is too large.", "Send less."),
}


def refusal_of(status: int, headers: Mapping[str, str] | None = None) -> Refusal:
    """Return the refusal for a bare status code."""
    return Refusal(status, *_BY_STATUS.get(status, _BY_STATUS[400]), headers)


def as_refusal(error: PsgraphError) -> Refusal:
    """Turn a library error about public parameters or files into a refusal."""
    message, _, remedy = str(error).partition("\n")
    remedy = " ".join(remedy.split()) or "Check the request."
    if isinstance(error, BudgetExceeded):
        return Refusal(409, "budget_refused", message, remedy)
    if isinstance(error, InvalidArgument):
        return Refusal(422, "invalid", message, remedy)
    if isinstance(error, VerificationFailed):
        return Refusal(
            500,
            "verification_failed",
            "A published file has changed since it was published.",
            "Ask the operator to run psgraph verify on the stream's directory.",
        )
    if isinstance(error, LedgerBusy | OutputError):
        return unavailable()
    return Refusal(409, "refused", "The request can't be carried out.", "Check the request.")


def unavailable() -> Refusal:
    """Return the refusal when files can't be read or written, such as on a full disk."""
    return Refusal(
        503,
        "unavailable",
        "The service can't use its files at the moment.",
        "Try again later; the log tells the operator why.",
        {"Retry-After": "10"},
    )


def internal() -> Refusal:
    """Return the refusal after an unexpected error."""
    return Refusal(
        500,
        "internal",
        "The service failed because of a bug in psgraph.",
        "Try again. If it fails again, ask the operator to look at the log.",
    )


def add_handlers(app: FastAPI) -> None:
    """Give every error of an application the same shape."""

    @app.exception_handler(Refusal)
    async def refused(request: Request, error: Refusal) -> Response:
        del request
        return problem(error)

    @app.exception_handler(PsgraphError)
    async def failed(request: Request, error: PsgraphError) -> Response:
        del request
        if isinstance(error, LedgerBusy | OutputError):
            log("files_failed", **failure(error))
        return problem(as_refusal(error))

    @app.exception_handler(sqlite3.Error)
    @app.exception_handler(OSError)
    async def unusable(request: Request, error: Exception) -> Response:
        del request
        log("files_failed", **failure(error))
        return problem(unavailable())

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        del request
        return problem(
            Refusal(
                422,
                "invalid",
                f"These parts of the request are not valid: {_places(error)}.",
                'See /api/v1/openapi.json for the expected form. Send ε as text such as "1/3", or '
                "as a number of at most 15 digits."
                if "epsilon" in _places(error)
                else "See /api/v1/openapi.json for the expected form.",
            )
        )

    @app.exception_handler(HTTPException)
    async def unusual(request: Request, error: HTTPException) -> Response:
        del request
        return problem(refusal_of(error.status_code, error.headers))

    @app.exception_handler(Exception)
    async def broken(request: Request, error: Exception) -> Response:
        del request
        log("internal_error", **failure(error))
        return problem(internal())


def failure(error: BaseException) -> dict[str, str]:
    """Return what the log says about an error: its type, where, and why a file can't be used."""
    facts = {"error": type(error).__name__, "places": _places_of(error)}
    cause: BaseException | None = error
    while cause is not None:
        full = getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
        number = errno.ENOSPC if full else getattr(cause, "errno", None)
        if isinstance(number, int):
            return {**facts, "reason": os.strerror(number)}
        cause = cause.__cause__ or cause.__context__
    return facts


def _places_of(error: BaseException) -> str:
    """Return where an error happened: lines of code, never its text, which may be private."""
    frames = traceback.extract_tb(error.__traceback__)[-6:]
    return " > ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames)


def _places(error: RequestValidationError) -> str:
    """Name the invalid fields, never their values."""
    known = []
    for each in error.errors()[:5]:
        place = ".".join(str(part) for part in each["loc"][:2])
        known.append("an unknown field" if each["type"] == "extra_forbidden" else place)
    return ", ".join(dict.fromkeys(known))
