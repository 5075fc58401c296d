"""Previews: what would be read of an upload. Private facts, for the curator who sent it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from psgraph.errors import OutsideRoster, PsgraphError
from psgraph.graph import Snapshot
from psgraph.graph.formats.files import open_table
from psgraph.service.events import open_timestamps
from psgraph.service.permissions import Identity
from psgraph.service.reading import nodes_of, read_events, read_snapshot
from psgraph.service.schemas import Preview
from psgraph.service.uploads import Upload
from psgraph.streams.nodes import Nodes

if TYPE_CHECKING:
    from psgraph.service.service import Service
    from psgraph.service.streams import Stream

__all__ = ["preview"]


def preview(service: Service, stream: Stream, upload: Upload, by: Identity) -> Preview:
    """Read an upload as a post would, and describe it. Nothing is stored.

    Privacy: curator only. Every preview is in the audit log.
    """
    service.audit.add(by, "preview", stream=stream.name, log=_log(stream))
    nodes = nodes_of(stream)
    facts: dict[str, Any] = {"kind": stream.terms.source}
    if nodes.roster is not None:
        facts["roster_nodes"] = len(nodes.everyone)
    try:
        if stream.terms.source == "events":
            facts |= _events(service, stream, upload)
        else:
            facts |= _described([read_snapshot(stream, upload, time="preview")])
    except OutsideRoster as error:
        problem = str(error).partition("\n")[0].replace("the snapshot at 'preview': ", "")
        unknown = _unknown_nodes(nodes, upload)
        return Preview(readable=False, problem=problem, unknown_nodes=unknown, **facts)
    except PsgraphError as error:
        problem = _told(error, upload)
        return Preview(readable=False, problem=problem, **facts)
    return Preview(readable=True, problem=None, **facts)


def _told(error: PsgraphError, upload: Upload) -> str:
    """Say what is wrong, without advice about options of the command."""
    lines = str(error).replace(upload.path.name, "the upload").splitlines()
    return "\n".join(line for line in lines if "(--" not in line)


def _log(stream: Stream) -> Any:
    return "events" if stream.terms.source == "events" else "main"


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
        positions = np.unique(np.concatenate([each.u, each.v]))
        touched.update(each.roster.ids[positions].tolist())
    kinds = {each.roster.strings for each in snapshots if len(each.roster)}
    return {
        "rows": edges + loops + repeats,
        "edges": edges,
        "self_loops": loops,
        "duplicates": repeats,
        "nodes_with_edges": len(touched),
        "ids": None if len(kinds) != 1 else ("text" if kinds.pop() else "integer"),
    }


def _unknown_nodes(nodes: Nodes, upload: Upload) -> int | None:
    """Count the distinct ids that are not on the node list; None where that is not possible."""
    try:
        table = open_table(upload.path)
        ends = nodes.id_columns(table, (0, 1))
        unknown: set[Any] = set()
        for batch in table.batches(ends):
            for ids in (batch.columns["u"], batch.columns["v"]):
                values = np.array(ids.unique().to_pylist(), dtype=object)
                if values.size:
                    strings = nodes.everyone.strings
                    as_ids = values if strings else values.astype(np.int64)
                    unknown.update(values[nodes.everyone.positions(as_ids) < 0].tolist())
        return len(unknown)
    except (PsgraphError, ValueError, TypeError, OverflowError):
        return None
