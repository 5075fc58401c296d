"""Predicted errors for a report, within a few seconds."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

from psgraph.errors import DataError, InvalidArgument
from psgraph.publication.releases import Releases, read_releases
from psgraph.trust.expected import expected_errors

if TYPE_CHECKING:
    from psgraph.trust.expected import ExpectedErrors

__all__ = ["TRUST_SECONDS", "expected_within"]

TRUST_SECONDS = 5.0


def expected_within(
    releases: str | PathLike[str] | Releases, seconds: float
) -> ExpectedErrors | None:
    """Predict the errors of releases, as far as the time allows.

    None if no time is given, or nothing can be predicted: releases without any edge, of a method
    that is not installed, or without node lists. A report does without the section then. It also
    does for graphs in parts, which would not be through in the default time and are then held in
    memory: give more.
    """
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or seconds < 0:
        raise InvalidArgument(f"trust_seconds must be a number of at least 0, not {seconds!r}")
    if not seconds:
        return None
    try:
        if not isinstance(releases, Releases):
            releases = read_releases(releases)
        if seconds <= TRUST_SECONDS and any(each.graph_parts for each in releases.certificates):
            return None
        return expected_errors(releases, seconds=seconds)
    except DataError:
        return None
