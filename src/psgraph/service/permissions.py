"""Who may do what: roles, actions, and the identity behind a request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["ANYONE", "PERMISSIONS", "READING", "Action", "Identity", "RoleName"]

RoleName = Literal["curator", "analyst", "auditor", "administrator", "public"]
Action = Literal[
    "list",
    "download",
    "certificates",
    "oversee",
    "post",
    "compare",
    "create",
    "manage",
    "tokens",
    "plan",
]

PERMISSIONS: dict[Action, frozenset[RoleName]] = {
    "list": frozenset({"curator", "analyst", "auditor", "administrator", "public"}),
    "certificates": frozenset({"curator", "analyst", "auditor", "administrator", "public"}),
    "download": frozenset({"curator", "analyst", "public"}),
    "oversee": frozenset({"curator", "auditor", "administrator"}),
    "plan": frozenset({"curator", "analyst", "auditor", "administrator"}),
    "post": frozenset({"curator"}),
    "compare": frozenset({"curator"}),
    "create": frozenset({"curator"}),
    "manage": frozenset({"curator", "administrator"}),
    "tokens": frozenset({"curator", "administrator"}),
}
"""Which roles may take which action; the only such table."""

READING: frozenset[Action] = frozenset({"list", "certificates", "download", "plan", "oversee"})
"""Actions of a process that only shows releases."""

UNLIMITED_ONLY: frozenset[Action] = frozenset({"create", "tokens"})
"""Actions on the whole service, not allowed to a token that is limited to some streams."""


@dataclass(frozen=True)
class Identity:
    """A caller.

    Attributes
    ----------
    token
        The public id of the token; None for the public.
    streams
        The streams the token is limited to; None if it is not.
    reads_only
        Whether it calls a process that only shows releases.
    """

    token: str | None
    role: RoleName
    streams: frozenset[str] | None = None
    reads_only: bool = False

    def may(self, action: Action) -> bool:
        """Whether the role, and the limits of the token, allow an action at all.

        >>> Identity("a", "auditor").may("download"), Identity("a", "auditor").may("oversee")
        (False, True)
        >>> Identity("a", "curator", frozenset({"calls"})).may("create")
        False
        """
        if self.reads_only and action not in READING:
            return False
        if action in UNLIMITED_ONLY and self.streams is not None:
            return False
        return self.role in PERMISSIONS[action]

    def sees(self, stream: str, *, public: bool) -> bool:
        """Whether a stream exists for this caller."""
        if self.role == "public":
            return public
        return self.streams is None or stream in self.streams


ANYONE = Identity(None, "public")
"""A caller without a token."""
