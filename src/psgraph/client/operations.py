"""What a client can do, as steps that the synchronous and the asynchronous client run alike.

Types are those of the service, so a field means the same on both sides. Fields that a newer service
added are left out.
"""

from __future__ import annotations

import json
import time as clock
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, urlencode

import pyarrow as pa
from pydantic import BaseModel, ValidationError

from psgraph._runtime.durable import as_path
from psgraph.client.http import Call, Pause, Steps, content_of, json_of, saved
from psgraph.client.mirror import Pulled, download, pulled
from psgraph.errors import InvalidArgument, ServiceError
from psgraph.service.schemas import (
    Accepted,
    AuditPage,
    Budget,
    ComparisonResult,
    Preview,
    ReleaseView,
    StreamView,
    TimestampView,
    TokenCreated,
    TokenView,
    VerificationView,
)

if TYPE_CHECKING:
    from psgraph.publication.certificate import Release

View = TypeVar("View", bound=BaseModel)

API = "/api/v1"
_PAGE = 1000
_LONGEST_WAIT = 15  # seconds, of one request that waits for a release
_MOST_IN_MEMORY = 1 << 34
_CONTENT_TYPES = {
    **dict.fromkeys([".csv", ".csv.gz", ".csv.zst", ".txt", ".txt.gz", ".txt.zst"], "text/csv"),
    ".parquet": "application/vnd.apache.parquet",
}


def streams() -> Steps[list[StreamView]]:
    found: list[StreamView] = []
    while True:
        after = {"after": found[-1].name} if found else {}
        page = yield from _list(StreamView, "/streams", limit=_PAGE, **after)
        found += page
        if len(page) < _PAGE:
            return found


def stream(name: str) -> Steps[StreamView]:
    return _view(StreamView, _call("GET", _of(name)))


def create_stream(content: Mapping[str, Any]) -> Steps[StreamView]:
    return _view(StreamView, _call("POST", "/streams", content))


def change_stream(name: str, change: Mapping[str, Any]) -> Steps[StreamView]:
    given = {key: value for key, value in change.items() if value is not None}
    return _view(StreamView, _call("PATCH", _of(name), given))


def put_roster(stream: str, file: str | Path, side: str | None) -> Steps[int]:
    call = _upload("PUT", f"{_of(stream)}/roster", as_path(file, "the roster"), side=side)
    return int((yield from json_of(call))["nodes"])


def push(stream: str, timestamp: int, file: str | Path, time: str | None) -> Steps[Accepted]:
    path = f"{_of(stream)}/snapshots/{timestamp}"
    return _view(Accepted, _upload("POST", path, as_path(file, "the snapshot"), time=time))


def push_events(stream: str, file: str | Path, key: str) -> Steps[Accepted]:
    path = as_path(file, "the events")
    return _view(Accepted, _upload("POST", f"{_of(stream)}/events", path, key=key))


def preview(stream: str, file: str | Path) -> Steps[Preview]:
    return _view(Preview, _upload("POST", f"{_of(stream)}/preview", as_path(file, "the data")))


def comparison(stream: str) -> Steps[ComparisonResult]:
    return _view(ComparisonResult, _call("GET", f"{_of(stream)}/comparison"))


def state(stream: str, timestamp: int) -> Steps[TimestampView]:
    return _view(TimestampView, _call("GET", f"{_of(stream)}/timestamps/{timestamp}"))


def wait(stream: str, timestamp: int, seconds: float) -> Steps[TimestampView]:
    deadline, pause = clock.monotonic() + seconds, 0.05
    while not (found := (yield from state(stream, timestamp))).final:
        left = deadline - clock.monotonic()
        if left <= 0:
            break
        yield Pause(min(pause, left))
        pause = min(2.0, pause * 1.5)
    return found


def releases(stream: str, since: int) -> Steps[list[ReleaseView]]:
    found: list[ReleaseView] = []
    while True:
        page = yield from _page(stream, since=since + len(found), limit=_PAGE)
        found += page
        if len(page) < _PAGE:
            return found


def new_releases(stream: str, since: int) -> Steps[list[ReleaseView]]:
    """Return releases from a timestamp on, as soon as there is one, or none after some seconds."""
    return _page(stream, since=since, limit=_PAGE, wait=_LONGEST_WAIT)


def _page(stream: str, **query: int) -> Steps[list[ReleaseView]]:
    return _list(ReleaseView, f"{_of(stream)}/releases", **query)


def pull(stream: str, to: str | Path, progress: Callable[[int], object]) -> Steps[Pulled]:
    listed = yield from releases(stream, 0)
    directory = as_path(to, "the directory")
    return (yield from pulled(API + _of(stream), listed, directory, progress))


def release(stream: str, timestamp: int) -> Steps[Release]:
    """Return a release, checked against its certificate, in memory."""
    from psgraph.publication.release_directory import ReleaseDirectory
    from psgraph.publication.releases import Releases

    path = f"{_of(stream)}/releases/{timestamp}"
    listed = yield from _view(ReleaseView, _call("GET", path))
    with TemporaryDirectory() as place:
        directory = ReleaseDirectory(place)
        certificate = yield from download(API + path, directory, listed)
        if certificate.graph_parts is not None:
            raise InvalidArgument(
                f"timestamp {timestamp} is published in {certificate.graph_parts} parts, because "
                "it is large\nPull it into a directory, and read it part by part."
            )
        return Releases(directory, certificates=(certificate,))[0]


def edges(stream: str, timestamp: int) -> Steps[pa.Table]:
    path = f"{API}{_of(stream)}/releases/{timestamp}/edges?format=arrow"
    content = yield from content_of(Call("GET", path, most=_MOST_IN_MEMORY))
    return pa.ipc.open_stream(content).read_all()


def export(stream: str, to: str | Path, format: str) -> Steps[None]:
    path = f"{API}{_of(stream)}/export?{urlencode({'format': format})}"
    yield from saved(Call("GET", path, to=as_path(to, "the archive")))


def budget(stream: str) -> Steps[Budget]:
    return _view(Budget, _call("GET", f"{_of(stream)}/budget"))


def verify(stream: str) -> Steps[VerificationView]:
    return _view(VerificationView, _call("GET", f"{_of(stream)}/verify"))


def catch_up(stream: str) -> Steps[StreamView]:
    return _view(StreamView, _call("POST", f"{_of(stream)}/catch-up"))


def measure_again(stream: str) -> Steps[StreamView]:
    return _view(StreamView, _call("POST", f"{_of(stream)}/measure-again"))


def audit_log(limit: int) -> Steps[AuditPage]:
    return _view(AuditPage, _call("GET", f"/audit-log?{urlencode({'limit': limit})}"))


def tokens() -> Steps[list[TokenView]]:
    return _list(TokenView, "/tokens")


def create_token(content: Mapping[str, Any]) -> Steps[TokenCreated]:
    return _view(TokenCreated, _call("POST", "/tokens", content))


def revoke_token(identifier: str) -> Steps[TokenView]:
    return _view(TokenView, _call("DELETE", f"/tokens/{quote(identifier, safe='')}"))


def plan(content: Mapping[str, Any]) -> Steps[dict[str, Any]]:
    planned = yield from json_of(_call("POST", "/plan", content))
    if not isinstance(planned, dict):
        raise _unexpected()
    return planned


# ---- requests and answers ----


def _call(method: str, path: str, content: object = None) -> Call:
    if content is None:
        return Call(method, API + path)
    body = json.dumps(content).encode()
    return Call(method, API + path, body, {"Content-Type": "application/json"})


def _upload(
    method: str, path: str, file: Path, *, key: str | None = None, **query: str | None
) -> Call:
    """Return a request with a file. The service handles it once, so repeating it is safe."""
    given = {name: value for name, value in query.items() if value is not None}
    headers = {"Content-Type": _content_type(file)}
    if key is not None:
        headers["Idempotency-Key"] = key
    address = f"{API}{path}?{urlencode(given)}" if given else API + path
    return Call(method, address, file, headers, repeat=True)


def _list(kind: type[View], path: str, **query: Any) -> Steps[list[View]]:
    content = yield from json_of(_call("GET", f"{path}?{urlencode(query)}" if query else path))
    if not isinstance(content, list):
        raise _unexpected()
    return [read(kind, each) for each in content]


def _view(kind: type[View], call: Call) -> Steps[View]:
    return read(kind, (yield from json_of(call)))


def read(kind: type[View], content: Any) -> View:
    """Build a value from JSON; ignore fields that a newer service added.

    >>> read(Accepted, {"state": "accepted", "stream": "calls", "newer": 1}).stream
    'calls'
    """
    try:
        return kind.model_validate(content)
    except ValidationError:
        raise _unexpected() from None


def _unexpected() -> ServiceError:
    return ServiceError(
        "the response does not have the expected form; the service may have another version\n"
        "Compare psgraph --version here with the version in /healthz of the service."
    )


def _content_type(file: Path) -> str:
    """Return the media type of a file, by its name.

    >>> _content_type(Path("2024-01-05.csv.gz"))
    'text/csv'
    """
    for ending, kind in _CONTENT_TYPES.items():
        if file.name.lower().endswith(ending):
            return kind
    raise InvalidArgument(
        f"{file.name} is neither CSV nor Parquet, judging by its name\n"
        "Name it *.csv, *.csv.gz, *.csv.zst or *.parquet, and convert it if it is something else."
    )


def _of(stream: str) -> str:
    return f"/streams/{quote(stream, safe='')}"
