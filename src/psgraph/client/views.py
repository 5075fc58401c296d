"""What a service tells its clients, as plain values. Fields it adds later are ignored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from psgraph.errors import ServiceError

__all__ = ["Posted", "ReleaseInfo", "State", "StreamInfo", "Token", "view"]

View = TypeVar("View")


@dataclass(frozen=True)
class StreamInfo:
    """A stream: its terms, which never change, and what is public about its progress.

    Attributes
    ----------
    released, next_timestamp
        The number of releases, and the timestamp that is expected next.
    next_tick
        When the next release of a stream with a period leaves, in UTC.
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
    """The answer to a post: "accepted", or "released" if the same data were released before."""

    state: str
    stream: str
    timestamp: int | None = None


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
        """Whether the state stays as it is."""
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
    """A token. Its secret is known only in the answer that created it, and not shown by `repr`."""

    id: str
    role: str
    label: str
    streams: list[str] | None
    created: str
    expires: str | None
    revoked: str | None
    token: str | None = field(default=None, repr=False)


def view(kind: type[View], content: Any) -> View:
    """Build a view from JSON.

    >>> view(Posted, {"state": "accepted", "stream": "calls", "newer": 1})
    Posted(state='accepted', stream='calls', timestamp=None)
    """
    try:
        known = {each.name for each in fields(kind)}  # type: ignore[arg-type]
        return kind(**{name: value for name, value in content.items() if name in known})
    except (AttributeError, TypeError):
        raise ServiceError(
            "the response is not of the expected form: the service may be of another version\n"
            "Compare psgraph --version here with what /healthz of the service states."
        ) from None
