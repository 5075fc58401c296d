"""What the HTTP interface takes and returns, as pydantic models: of the service and its client.

No model has a field for a private value, except `Preview` and `ComparisonResult`, which are for
curators and say so in ``curator_only``.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from psgraph.methods import DEFAULT_METHOD

__all__ = [
    "NAME_PATTERN",
    "Accepted",
    "AuditEntry",
    "AuditPage",
    "AuditVerification",
    "Budget",
    "ComparisonResult",
    "Health",
    "NewStream",
    "NewToken",
    "PlanRequest",
    "Preview",
    "Problem",
    "ReleaseView",
    "RosterView",
    "SpendRow",
    "StreamView",
    "TimestampView",
    "TokenCreated",
    "TokenView",
    "VerificationView",
]

NAME_PATTERN = r"^[a-z0-9][a-z0-9_-]{0,62}$"

Name = Annotated[str, Field(pattern=NAME_PATTERN)]
_DIGITS = 15
"""A number in JSON with more digits may not arrive as it was written."""


def _exact(value: object) -> object:
    """Take a number as it was written; refuse one that may have been rounded on its way.

    >>> _exact(1), _exact(0.1), _exact("1/3")
    ('1', '0.1', '1/3')
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    text = str(value)
    if "e" in text or "n" in text or len(text.replace(".", "").lstrip("-0")) > _DIGITS:
        raise ValueError("has too many digits for a number in JSON: send it as text")
    return text


Exact = Annotated[
    str,
    Field(
        max_length=60,
        json_schema_extra={
            "description": "An exact number, as text or as a number of at most 15 digits.",
            "examples": ["1", "0.5", "1/3"],
            "type": ["string", "number"],
        },
    ),
    BeforeValidator(_exact),
]
Role = Literal["curator", "analyst", "auditor", "administrator"]
State = Literal["waiting", "due", "measuring", "released", "refused"]
Source = Literal["snapshots", "events"]
RosterKind = Literal["list", "edges"]
GraphKind = Literal["undirected", "directed", "two-sided"]
Side = Literal["left", "right"]
MissingSnapshot = Literal["wait", "empty"]
Activity = Literal["active", "paused", "archived"]


class _Strict(BaseModel):
    """What is sent: a field that is not known is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class _Returned(BaseModel):
    """What is returned: clients ignore fields that a newer service added."""

    model_config = ConfigDict(frozen=True)


def _with_example(example: dict[str, Any]) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": [example]})


class Problem(_Returned):
    """An error: a code for machines, the fact and the remedy. All are padded to one size."""

    status: int
    title: str = Field(description="What the status means.")
    error: str
    message: str
    remedy: str


# ---- streams ----


class NewStream(_Strict):
    """The terms of a stream to create. All are public, and none can change later."""

    model_config = _with_example({"name": "calls", "epsilon": "1", "window": 30, "period": "1d"})

    name: Name
    title: str = Field(default="", max_length=200)
    epsilon: Exact
    window: int = Field(ge=1, le=1_000_000)
    method: str = Field(default=DEFAULT_METHOD, max_length=60)
    parameters: dict[str, str] = Field(default_factory=dict, max_length=30)
    roster: RosterKind = Field(
        default="list",
        description="'list': the public list sent to /roster. 'edges': node presence is public.",
    )
    kind: GraphKind = Field(
        default="undirected",
        description="'directed': u → v and v → u differ. 'two-sided': u and v have node lists of "
        "their own, sent to /roster?side=left and ?side=right.",
    )
    weights: int | None = Field(
        default=None,
        ge=2,
        le=2**31 - 1,
        description="Publish weights up to this: the column weight, or the number of rows.",
    )
    labels: str | None = Field(
        default=None,
        max_length=200,
        description="Columns of the list with public labels of the nodes, such as department,site. "
        "They are published as they are and must not be computed from the edges.",
    )
    source: Source = Field(
        default="snapshots", description="Whole snapshots, or events that are cut at ticks."
    )
    period: str | None = Field(
        default=None,
        max_length=12,
        description="Such as 1d: each timestamp is one period, released when it is over.",
    )
    first_period: str | None = Field(
        default=None, max_length=40, description="A moment in the first period; by default now."
    )
    timezone: str | None = Field(default=None, max_length=60)
    delay_seconds: int = Field(
        default=0, ge=0, le=86_400, description="Time from the end of a period to its release."
    )
    missing: MissingSnapshot = Field(
        default="wait",
        description="What to do at a tick without a snapshot; never applies to events.",
    )
    public: bool = Field(default=False, description="Whether releases can be read without a token.")
    keep_originals_days: int = Field(
        default=0,
        ge=0,
        le=3650,
        description="How long originals are kept for comparisons; 0: they are not kept.",
    )
    seed: int | None = Field(
        default=None, ge=0, lt=2**63, description="For research: repeatable and NOT private."
    )

    @model_validator(mode="after")
    def _labels_need_a_list(self) -> NewStream:
        if self.labels and self.roster == "edges":
            raise ValueError("labels are columns of the public list of nodes")
        return self


class _Promised(_Returned):
    """The guarantee of a stream as it states itself, and what is promised of its releases."""

    unit: str = Field(description="What the guarantee protects.")
    epsilon: str
    window: int
    promise: str
    private: bool = Field(description="Whether privacy is promised.")


class StreamView(_Promised):
    """What everyone who may see a stream sees."""

    name: str
    title: str
    method: str
    parameters: dict[str, Any]
    roster: RosterKind
    kind: GraphKind
    weights: int | None
    labels: str | None = Field(description="Label columns of the roster: public, as declared.")
    source: Source
    period: str | None
    first_period: str | None
    timezone: str | None
    delay_seconds: int
    missing: MissingSnapshot
    public: bool
    keep_originals_days: int
    created: str
    adopted: bool
    nodes: int | None = Field(description="Size of the public roster; null before there is one.")
    released: int = Field(description="Number of released timestamps.")
    latest_time: str | None
    spent: str = Field(description="ε spent in the current window, from the certificates.")
    next_timestamp: int
    next_tick: str | None = Field(description="When the next release is due, in UTC.")
    activity: Activity
    health: Literal["ok", "waiting", "blocked"]
    reason: str | None = Field(description="Why it is waiting or blocked.")


class StreamChange(_Strict):
    """What can change after a stream is created; what is left out stays as it is."""

    model_config = _with_example({"title": "Calls between offices", "activity": "paused"})

    title: str | None = Field(default=None, max_length=200)
    activity: Activity | None = Field(
        default=None,
        description="'paused': nothing is published until it is 'active' again, which also "
        "publishes the periods that passed. 'archived': nothing is accepted either.",
    )


class RosterView(_Returned):
    nodes: int
    added: int


# ---- timestamps and uploads ----


class Accepted(_Returned):
    """The response to a post; its size does not depend on the content of the post."""

    state: Literal["accepted", "released"]
    stream: str
    timestamp: int | None = None
    also_in: list[str] = Field(
        default_factory=list,
        description="Other streams that the same snapshot was posted to. Its edges are then "
        "protected at the sum of the streams' ε.",
    )


class TimestampView(_Returned):
    stream: str
    timestamp: int
    time: str | None
    state: State
    due: str | None = Field(description="When it is released, in UTC; null without a period.")
    reason: str | None

    @property
    def final(self) -> bool:
        """Whether the state can no longer change."""
        return self.state in ("released", "refused")


class Preview(_Returned):
    """What would be read from an upload. Contains private facts: for the curator only."""

    curator_only: Literal[True] = True
    readable: bool
    problem: str | None
    kind: Source
    rows: int | None = None
    edges: int | None = None
    self_loops: int | None = None
    duplicates: int | None = None
    nodes_with_edges: int | None = None
    roster_nodes: int | None = None
    unknown_nodes: int | None = None
    ids: Literal["integer", "text"] | None = None
    first_time: str | None = None
    last_time: str | None = None
    timestamps: list[int] = Field(default_factory=list)
    also_in: list[str] = Field(
        default_factory=list, description="Other streams that the same snapshot was posted to."
    )


# ---- releases ----


class ReleaseView(_Returned):
    """A release by its certificate."""

    timestamp: int
    time: str | None
    nodes: int
    edges: int = Field(description="Edges of the synthetic graph.")
    spent: str
    window_spent: str
    private: bool
    digest: str
    graph_sha256: str
    nodes_sha256: str | None
    formats: list[str]


class SpendRow(_Returned):
    timestamp: int
    time: str | None
    spent: str
    window_spent: str


class Budget(_Promised):
    window_in_time: str | None
    timestamps: int
    spent: str
    left: str
    next_timestamp: str = Field(description="The most that the next timestamp can spend.")
    forecast: list[str] = Field(
        description="The most that each of the next timestamps, at most 12, can spend if those "
        "before it spend nothing."
    )
    rows: list[SpendRow]


class VerificationView(_Returned):
    ok: bool
    problems: list[str]
    timestamps: int | None = None
    releases: int | None = None
    pending: int | None = None
    largest_window_spent: str | None = None


class ComparisonResult(_Returned):
    """Comparison with the originals. Contains private facts: for the curator only."""

    curator_only: Literal[True] = True
    stream: str
    timestamps: list[int]
    comparison: dict[str, Any]


# ---- tokens, audit log, planning ----


class NewToken(_Strict):
    model_config = _with_example({"role": "analyst", "label": "Ann", "streams": ["calls"]})

    role: Role
    label: str = Field(default="", max_length=100)
    streams: list[Name] | None = Field(default=None, description="null: all streams.")
    expires_days: int | None = Field(default=90, ge=1, le=3650)


class TokenView(_Returned):
    id: str
    role: Role
    label: str
    streams: list[str] | None
    created: str
    expires: str | None
    revoked: str | None
    used: str | None = Field(description="The day of its latest use, in UTC; null: never.")


class TokenCreated(TokenView):
    token: str = Field(description="Shown once; only its hash is stored.", repr=False)


class AuditEntry(_Returned):
    number: int
    at: str
    token: str | None
    role: str
    action: str
    stream: str | None
    timestamp: int | None
    outcome: str
    also_in: list[str] = Field(
        default_factory=list, description="Other streams with the same data; for curators."
    )
    digest: str


class AuditPage(_Returned):
    entries: list[AuditEntry]
    total: int
    head: str


class AuditVerification(_Returned):
    ok: bool
    entries: int
    head: str
    problem: str | None


class PlanRequest(_Strict):
    model_config = _with_example({"epsilon": "1", "window": 30, "nodes": 10_000, "edges": 40_000})

    epsilon: Exact
    window: int = Field(ge=1, le=1_000_000)
    nodes: int = Field(ge=0, le=100_000_000)
    edges: int | None = Field(
        default=None, ge=0, description="Approximate number of edges, to show what the noise means."
    )
    method: str = Field(default=DEFAULT_METHOD, max_length=60)


class Health(_Returned):
    status: Literal["ok", "degraded", "starting", "stopping"]
    version: str
    problems: list[str] = Field(default=[], description="What the operator has to look at.")
