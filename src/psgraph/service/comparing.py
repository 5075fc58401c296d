"""Comparisons of releases with the originals that the terms keep. For the curator only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from fastapi.responses import HTMLResponse

from psgraph._runtime.extras import require_drawing
from psgraph.graph import Snapshot
from psgraph.metrics.comparison import compare
from psgraph.publication.certificate import Release
from psgraph.publication.reading import Releases
from psgraph.service.exports import DRAWING, SANDBOX
from psgraph.service.permissions import Identity
from psgraph.service.problems import Refusal
from psgraph.service.schemas import ComparisonResult

if TYPE_CHECKING:
    from psgraph.service.service import Service
    from psgraph.service.streams import Stream

__all__ = ["comparison", "quality_report"]


def comparison(service: Service, stream: Stream, by: Identity) -> ComparisonResult:
    """Compare all releases whose originals are kept.

    Privacy: the result contains facts about private edges. Curator only, and in the audit log.
    """
    timestamps, releases = _kept(stream)
    service.audit.add(by, "compare", stream=stream.name)
    found = compare(_originals(stream, releases), releases)
    content: dict[str, Any] = found.to_dict()
    for row, timestamp in zip(content["rows"], timestamps, strict=True):
        row["timestamp"] = timestamp
    return ComparisonResult(stream=stream.name, timestamps=timestamps, comparison=content)


def quality_report(service: Service, stream: Stream, by: Identity) -> HTMLResponse:
    """Return the comparison as a page. Privacy: as `comparison`."""
    require_drawing()
    from psgraph.reports.quality import quality_page
    from psgraph.reports.witness import Witness

    timestamps, releases = _kept(stream)
    service.audit.add(by, "compare", stream=stream.name)
    witness = Witness(len(timestamps))
    originals = witness.watch_originals(_originals(stream, releases))
    found = compare(originals, witness.watch_releases(each.graph for each in releases))
    with DRAWING:
        page = quality_page(found, witness, [each.certificate for each in releases]).html()
    headers = {"Content-Security-Policy": SANDBOX, "Cache-Control": "no-store"}
    return HTMLResponse(page, headers=headers)


def _kept(stream: Stream) -> tuple[list[int], list[Release]]:
    released = len(stream.shelf.certificates())
    timestamps = [each for each in stream.inbox.originals() if each < released]
    if not timestamps:
        raise Refusal(
            409,
            "no_originals",
            "No original of this stream is kept.",
            "Originals are deleted once they are released, unless the stream was created with "
            "keep_originals_days. Compare with your own copy: psgraph compare.",
        )
    releases = Releases(stream.shelf.directory)
    return timestamps, [releases[each] for each in timestamps]


def _originals(stream: Stream, releases: list[Release]) -> Iterator[Snapshot]:
    for release in releases:
        yield stream.inbox.original(
            release.timestamp, release.graph.roster, time=release.certificate.time
        )
