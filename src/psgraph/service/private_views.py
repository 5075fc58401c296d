"""The two results that contain private facts: previews of uploads, and comparisons with originals.

Privacy: for the curator only. Each is recorded in the audit log.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from fastapi.responses import HTMLResponse

from psgraph._runtime.extras import require_drawing
from psgraph.errors import OutsideRoster, PsgraphError
from psgraph.graph import Snapshot
from psgraph.graph.formats.files import open_table
from psgraph.metrics.comparison import compare
from psgraph.publication.certificate import Release
from psgraph.service.exports import SANDBOX
from psgraph.service.permissions import Identity
from psgraph.service.problems import Refusal
from psgraph.service.rosters import nodes_of
from psgraph.service.schemas import ComparisonResult, Preview
from psgraph.service.snapshots import (
    also_posted_to,
    open_timestamps,
    read_events,
    read_snapshot,
)
from psgraph.service.uploads import Upload
from psgraph.streams.nodes import Nodes

if TYPE_CHECKING:
    from psgraph.service.service import Service
    from psgraph.service.streams import Stream

__all__ = ["comparison", "preview", "quality_report"]

# ---- previews ----


def preview(service: Service, stream: Stream, upload: Upload, by: Identity) -> Preview:
    """Read an upload as a post would, and describe it. Nothing is stored."""
    service.audit.add(by, "preview", stream=stream.name, log="curators")
    nodes = nodes_of(stream)
    facts: dict[str, Any] = {"kind": stream.terms.source}
    if nodes.roster is not None:
        facts["roster_nodes"] = len(nodes.everyone)
    try:
        if stream.terms.source == "events":
            facts |= _events(service, stream, upload)
        else:
            snapshot = read_snapshot(stream, upload, time="preview")
            facts |= _described([snapshot])
            facts["also_in"] = also_posted_to(service, stream, snapshot, by)
    except OutsideRoster as error:
        problem = str(error).partition("\n")[0].replace("the snapshot at 'preview': ", "")
        unknown = _unknown_nodes(nodes, upload)
        return Preview(readable=False, problem=problem, unknown_nodes=unknown, **facts)
    except PsgraphError as error:
        problem = _told(error, upload)
        return Preview(readable=False, problem=problem, **facts)
    return Preview(readable=True, problem=None, **facts)


def _told(error: PsgraphError, upload: Upload) -> str:
    """Say what is wrong, without advice about command-line options."""
    lines = str(error).replace(upload.path.name, "the upload").splitlines()
    return "\n".join(line for line in lines if "(--" not in line)


def _events(service: Service, stream: Stream, upload: Upload) -> dict[str, Any]:
    assert stream.schedule is not None
    first, last = open_timestamps(service, stream)
    found = [
        (timestamp, snapshot)
        for timestamp, snapshot in read_events(
            stream, stream.schedule, upload, first=first, last=last
        )
        if snapshot.u.size
    ]
    facts = _described([snapshot for _, snapshot in found])
    timestamps = [timestamp for timestamp, _ in found]
    if found:
        facts |= {"first_time": found[0][1].time, "last_time": found[-1][1].time}
    return {**facts, "timestamps": timestamps}


def _described(snapshots: list[Snapshot]) -> dict[str, Any]:
    edges = sum(int(each.u.size) for each in snapshots)
    loops = sum(each.dropped.self_loops for each in snapshots)
    repeats = sum(each.dropped.duplicates for each in snapshots)
    touched: set[Any] = set()
    for each in snapshots:
        for side, ids in enumerate(each.to_ids()):
            own = side if each.kind.two_sided else 0
            touched.update((own, node) for node in np.unique(ids).tolist())
    kinds = {side.strings for each in snapshots for side in each.roster.sides if len(each.roster)}
    return {
        "rows": edges + loops + repeats,
        "edges": edges,
        "self_loops": loops,
        "duplicates": repeats,
        "nodes_with_edges": len(touched),
        "ids": None if len(kinds) != 1 else ("text" if kinds.pop() else "integer"),
    }


def _unknown_nodes(nodes: Nodes, upload: Upload) -> int | None:
    """Count the distinct ids that are not on the node list; None if they can't be read."""
    try:
        table = open_table(upload.path)
        ends = nodes.id_columns(table, (0, 1))
        unknown: set[Any] = set()
        for batch in table.batches(ends):
            columns = batch.columns["u"], batch.columns["v"]
            for number, (ids, side) in enumerate(zip(columns, nodes.everyone.sides, strict=True)):
                values = np.array(ids.unique().to_pylist(), dtype=object)
                if values.size:
                    as_ids = values if side.strings else values.astype(np.int64)
                    outside = values[side.positions(as_ids) < 0].tolist()
                    own = number if nodes.kind.two_sided else 0
                    unknown.update((own, node) for node in outside)
        return len(unknown)
    except (PsgraphError, ValueError, TypeError, OverflowError):
        return None


# ---- comparisons ----


async def comparison(service: Service, stream: Stream, by: Identity) -> ComparisonResult:
    """Compare all releases whose originals are kept."""
    key = ("comparison", stream.name, by)
    return await service.checking.run(by, key, lambda: _comparison(service, stream, by))


def _comparison(service: Service, stream: Stream, by: Identity) -> ComparisonResult:
    timestamps, releases = _kept(stream)
    service.audit.add(by, "compare", stream=stream.name)
    found = compare(_originals(stream, releases), releases)
    content: dict[str, Any] = found.to_dict()
    for row, timestamp in zip(content["rows"], timestamps, strict=True):
        row["timestamp"] = timestamp
    return ComparisonResult(stream=stream.name, timestamps=timestamps, comparison=content)


async def quality_report(service: Service, stream: Stream, by: Identity) -> HTMLResponse:
    """Return the comparison as a page."""
    require_drawing()
    key = ("quality report", stream.name, by)
    return await service.drawing.run(by, key, lambda: _quality_report(service, stream, by))


def _quality_report(service: Service, stream: Stream, by: Identity) -> HTMLResponse:
    from psgraph.reports.curator import Witness
    from psgraph.reports.quality import quality_page

    timestamps, releases = _kept(stream)
    service.audit.add(by, "compare", stream=stream.name)
    witness = Witness(len(timestamps))
    originals = witness.watch_originals(_originals(stream, releases))
    found = compare(originals, witness.watch_releases(each.graph for each in releases))
    page = quality_page(found, witness, [each.certificate for each in releases]).html()
    headers = {"Content-Security-Policy": SANDBOX, "Cache-Control": "no-store"}
    return HTMLResponse(page, headers=headers)


def _kept(stream: Stream) -> tuple[list[int], list[Release]]:
    released = len(stream.releases.refresh())
    timestamps = [each for each in stream.inbox.originals() if each < released]
    if not timestamps:
        raise Refusal(
            409,
            "no_originals",
            "No originals of this stream are kept.",
            "Originals are deleted after their release, unless the stream was created with "
            "keep_originals_days. Compare with your own copy: psgraph compare.",
        )
    return timestamps, [stream.releases[each] for each in timestamps]


def _originals(stream: Stream, releases: list[Release]) -> Iterator[Snapshot]:
    for release in releases:
        yield stream.inbox.original(
            release.timestamp,
            release.graph.roster,
            time=release.certificate.time,
            kind=stream.kind,
        )
