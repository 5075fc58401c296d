"""The client: one method for each thing a service does, and what it returns as plain values."""

from __future__ import annotations

import json
import secrets
import time as clock
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

import pyarrow as pa

from psgraph._runtime.durable import as_path
from psgraph.client.http import Http
from psgraph.client.mirror import Pulled, pull
from psgraph.errors import InvalidArgument, ServiceError

__all__ = ["Client", "Posted", "ReleaseInfo", "State", "StreamInfo", "Token"]

View = TypeVar("View")

_API = "/api/v1"
_PAGE = 1000
_LONGEST_WAIT = 15  # seconds, of one request that waits for a release
_CONTENT_TYPES = {
    **dict.fromkeys([".csv", ".csv.gz", ".csv.zst", ".txt", ".txt.gz", ".txt.zst"], "text/csv"),
    ".parquet": "application/vnd.apache.parquet",
}


@dataclass(frozen=True)
class StreamInfo:
    """A stream: its terms, which never change, and its progress.

    Attributes
    ----------
    released, next_timestamp
        The number of releases, and the timestamp that is expected next.
    next_tick
        When the next release of a stream with a period is due, in UTC.
    spent
        ε spent in the current window, exact.
    health, reason
        "ok", "waiting" or "blocked", and why.
    """

    name: str
    epsilon: str
    window: int
    method: str
    parameters: Mapping[str, Any]
    roster: str
    kind: str
    weights: int | None
    labels: str | None
    source: str
    period: str | None
    public: bool
    private: bool
    promise: str
    nodes: int | None
    released: int
    spent: str
    next_timestamp: int
    next_tick: str | None
    health: str
    reason: str | None


@dataclass(frozen=True)
class Posted:
    """The response to a post: "accepted", or "released" if the same data were released before.

    Attributes
    ----------
    also_in
        Other streams that the same snapshot was posted to. Its edges are then protected at the sum
        of the streams' ε.
    """

    state: str
    stream: str
    timestamp: int | None = None
    also_in: Sequence[str] = ()


@dataclass(frozen=True)
class State:
    """The state of a timestamp: "waiting", "due", "measuring", "released" or "refused"."""

    stream: str
    timestamp: int
    time: str | None
    state: str
    due: str | None
    reason: str | None

    @property
    def final(self) -> bool:
        """Whether the state can no longer change."""
        return self.state in ("released", "refused")


@dataclass(frozen=True)
class ReleaseInfo:
    """A release by its certificate."""

    timestamp: int
    time: str | None
    nodes: int
    edges: int
    spent: str
    window_spent: str
    private: bool
    digest: str
    graph_sha256: str
    nodes_sha256: str | None


@dataclass(frozen=True)
class Token:
    """A token. Only the response that created it has its secret, which `repr` does not show."""

    id: str
    role: str
    label: str
    streams: list[str] | None
    created: str
    expires: str | None
    revoked: str | None
    used: str | None = None
    token: str | None = field(default=None, repr=False)


def _view(kind: type[View], content: Any) -> View:
    """Build a value from JSON; ignore fields that a newer service added.

    >>> _view(Posted, {"state": "accepted", "stream": "calls", "newer": 1})
    Posted(state='accepted', stream='calls', timestamp=None, also_in=())
    """
    try:
        known = {each.name for each in fields(kind)}  # type: ignore[arg-type]
        return kind(**{name: value for name, value in content.items() if name in known})
    except (AttributeError, TypeError):
        raise ServiceError(
            "the response does not have the expected form; the service may have another version\n"
            "Compare psgraph --version here with the version in /healthz of the service."
        ) from None


class Client:
    """A service, as one token sees it.

    Parameters
    ----------
    address
        Such as ``https://psgraph.example.org``; ``http://`` for this machine only.
    token
        As printed by the service or created by a curator. Without it only public streams can be
        read.
    certificates
        A file with the certificates to trust, if the system does not trust that of the service.
    timeout
        Seconds to wait for the service to continue a response.
    """

    def __init__(
        self,
        address: str,
        token: str | None = None,
        *,
        certificates: str | Path | None = None,
        timeout: float = 60.0,
    ) -> None:
        trusted = None if certificates is None else as_path(certificates, "the certificates")
        self._http = Http(address, token=token, certificates=trusted, timeout=timeout)

    # ---- streams ----

    def streams(self) -> list[StreamInfo]:
        """List the streams that the token may see."""
        found: list[StreamInfo] = []
        while True:
            after = {"after": found[-1].name} if found else {}
            page = self._get(f"/streams?{urlencode({'limit': _PAGE, **after})}")
            found += (_view(StreamInfo, each) for each in page)
            if len(page) < _PAGE:
                return found

    def stream(self, name: str) -> StreamInfo:
        """Return the terms and the progress of a stream."""
        return _view(StreamInfo, self._get(_of(name)))

    def create_stream(self, name: str, *, epsilon: str, window: int, **terms: Any) -> StreamInfo:
        """Create a stream. Its terms can't be changed later.

        `terms` are those of ``POST /streams``: method, parameters, roster, source, period and so
        on; ``/api/v1/openapi.json`` of the service describes them.
        """
        content = {"name": name, "epsilon": str(epsilon), "window": window, **terms}
        return _view(StreamInfo, self._send("POST", "/streams", content))

    def change_stream(
        self, name: str, *, title: str | None = None, activity: str | None = None
    ) -> StreamInfo:
        """Change the title of a stream, or make it "active", "paused" or "archived"."""
        given = {"title": title, "activity": activity}
        change = {key: value for key, value in given.items() if value is not None}
        return _view(StreamInfo, self._send("PATCH", _of(name), change))

    def put_roster(self, stream: str, file: str | Path, *, side: str | None = None) -> int:
        """Set the public node list of a stream; it can only grow. Return its length.

        A two-sided stream has two: give `side`, "left" or "right".
        """
        path = as_path(file, "the roster")
        chosen = {} if side is None else {"side": side}
        answer = self._upload("PUT", f"{_of(stream)}/roster", path, chosen)
        return int(answer["nodes"])

    # ---- posting, for curators ----

    def push(
        self, stream: str, timestamp: int, file: str | Path, *, time: str | None = None
    ) -> Posted:
        """Post the edges of a timestamp: a CSV or Parquet file with columns u and v.

        Posting the same data again is harmless; different data for the same timestamp are refused.

        Parameters
        ----------
        time
            The public name of the timestamp. A stream with a period names its own.
        """
        query = {} if time is None else {"time": time}
        path = f"{_of(stream)}/snapshots/{timestamp}"
        return _view(Posted, self._upload("POST", path, as_path(file, "the snapshot"), query))

    def push_events(self, stream: str, file: str | Path, *, key: str | None = None) -> Posted:
        """Post events: a CSV or Parquet file with columns u, v and time.

        Parameters
        ----------
        key
            A name for this batch. A batch whose key was accepted before is not added again; give
            one if you may call this again after an error.
        """
        headers = {"Idempotency-Key": key or secrets.token_urlsafe(24)}
        path = as_path(file, "the events")
        return _view(Posted, self._upload("POST", f"{_of(stream)}/events", path, {}, headers))

    def preview(self, stream: str, file: str | Path) -> Mapping[str, Any]:
        """Return what the service would read from a file. Stores nothing; private."""
        path = as_path(file, "the data")
        found: Mapping[str, Any] = self._upload("POST", f"{_of(stream)}/preview", path, {})
        return found

    def comparison(self, stream: str) -> Mapping[str, Any]:
        """Compare the releases with the originals that are kept. Private."""
        return self._object(f"{_of(stream)}/comparison")

    def state(self, stream: str, timestamp: int) -> State:
        """Return the state of a timestamp."""
        return _view(State, self._get(f"{_of(stream)}/timestamps/{timestamp}"))

    def wait(self, stream: str, timestamp: int, *, seconds: float = 300.0) -> State:
        """Wait until a timestamp is released or refused, at most `seconds`; return its state."""
        deadline, pause = clock.monotonic() + seconds, 0.05
        while not (state := self.state(stream, timestamp)).final:
            left = deadline - clock.monotonic()
            if left <= 0:
                break
            clock.sleep(min(pause, left))
            pause = min(2.0, pause * 1.5)
        return state

    # ---- reading, for analysts ----

    def releases(self, stream: str, *, since: int = 0) -> Iterator[ReleaseInfo]:
        """List the releases of a stream in order."""
        while True:
            query = urlencode({"since": since, "limit": _PAGE})
            page = self._get(f"{_of(stream)}/releases?{query}")
            yield from (_view(ReleaseInfo, each) for each in page)
            if len(page) < _PAGE:
                return
            since += len(page)

    def pull(
        self,
        stream: str,
        to: str | Path,
        *,
        progress: Callable[[int], object] = lambda _timestamp: None,
    ) -> Pulled:
        """Download the releases of a stream that are not yet in the directory `to`.

        Every file is checked against its certificate and every certificate against the one before
        it. Files appear only when complete, so the next call continues an interrupted one.
        """
        directory = as_path(to, "the directory")
        return pull(self._http, _API + _of(stream), self.releases(stream), directory, progress)

    def follow(self, stream: str, *, since: int = 0) -> Iterator[ReleaseInfo]:
        """Yield releases as they appear, from `since` on; never ends by itself."""
        while True:
            query = urlencode({"since": since, "wait": _LONGEST_WAIT})
            for each in self._get(f"{_of(stream)}/releases?{query}"):
                since += 1
                yield _view(ReleaseInfo, each)

    def edges(self, stream: str, timestamp: int) -> pa.Table:
        """Return the edges of a release in memory, with columns u and v.

        `pull` checks files against their certificates; this does not.
        """
        path = f"{_API}{_of(stream)}/releases/{timestamp}/edges?format=arrow"
        return pa.ipc.open_stream(self._http.content(path)).read_all()

    def export(self, stream: str, to: str | Path, *, format: str = "parquet") -> None:
        """Download all public files of a stream as one ZIP archive."""
        query = urlencode({"format": format})
        self._http.download(f"{_API}{_of(stream)}/export?{query}", as_path(to, "the archive"))

    # ---- oversight and administration ----

    def budget(self, stream: str) -> Mapping[str, Any]:
        """Return what every timestamp spent, and what is left in the window."""
        return self._object(f"{_of(stream)}/budget")

    def verify(self, stream: str) -> Mapping[str, Any]:
        """Have the service check every release, certificate and ledger row of a stream."""
        return self._object(f"{_of(stream)}/verify")

    def catch_up(self, stream: str) -> StreamInfo:
        """Publish the periods that passed while the service was stopped."""
        return _view(StreamInfo, self._send("POST", f"{_of(stream)}/catch-up"))

    def measure_again(self, stream: str) -> StreamInfo:
        """Continue a stream that stopped because a timestamp was measured too often, unsealed.

        Find out first why it was not sealed; its `reason` says that it has stopped.
        """
        return _view(StreamInfo, self._send("POST", f"{_of(stream)}/measure-again"))

    def audit_log(self, *, limit: int = 100) -> list[Mapping[str, Any]]:
        """Return the newest entries of the audit log."""
        return list(self._object(f"/audit-log?{urlencode({'limit': limit})}")["entries"])

    def tokens(self) -> list[Token]:
        """List all tokens, without their secrets."""
        return [_view(Token, each) for each in self._get("/tokens")]

    def create_token(self, role: str, **options: Any) -> Token:
        """Create a token: "curator", "analyst", "auditor", or "administrator" by one of these.

        Its secret is shown only once.

        `options` are those of ``POST /tokens``: label, streams, expires_days.
        """
        return _view(Token, self._send("POST", "/tokens", {"role": role, **options}))

    def revoke_token(self, identifier: str) -> Token:
        """Revoke a token by its id. It stops working at once."""
        return _view(Token, self._send("DELETE", f"/tokens/{quote(identifier, safe='')}"))

    def plan(self, *, epsilon: str, window: int, nodes: int, **options: Any) -> Mapping[str, Any]:
        """Return how noisy a publication would be. Spends nothing."""
        content = {"epsilon": str(epsilon), "window": window, "nodes": nodes, **options}
        answer: Mapping[str, Any] = self._send("POST", "/plan", content)
        return answer

    # ---- sending ----

    def _get(self, path: str) -> Any:
        return self._http.json("GET", _API + path)

    def _object(self, path: str) -> Mapping[str, Any]:
        content = self._get(path)
        if not isinstance(content, Mapping):
            raise ServiceError("the response does not have the expected form\nUpdate psgraph.")
        return content

    def _send(self, method: str, path: str, content: object = None) -> Any:
        body = None if content is None else json.dumps(content).encode()
        headers = {} if body is None else {"Content-Type": "application/json"}
        return self._http.json(method, _API + path, body=body, headers=headers)

    def _upload(
        self,
        method: str,
        path: str,
        file: Path,
        query: Mapping[str, str],
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """Stream a file. The service handles every upload once, so repeating it is safe."""
        path = f"{_API}{path}?{urlencode(query)}" if query else _API + path
        sent = {"Content-Type": _content_type(file), **(headers or {})}
        return self._http.json(method, path, body=file, headers=sent, repeat=True)


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
