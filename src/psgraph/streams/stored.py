"""Streams from a store: everything was read and checked when it was prepared."""

from __future__ import annotations

from psgraph.errors import InvalidArgument, RosterError
from psgraph.stores import Store, open_store
from psgraph.stores.places import Place
from psgraph.streams.nodes import Nodes
from psgraph.streams.stream import Stream

__all__ = ["store_stream"]


def store_stream(path: Place, nodes: Nodes) -> Stream:
    """Read the snapshots of a store; their edges stay on disk until they are needed."""
    store = open_store(path)
    if nodes.from_edges or nodes.declared == "nodes":
        raise InvalidArgument(
            f"{path} is a store, and the nodes were declared when it was prepared\n"
            "Leave out roster_from_edges (--roster-from-edges) and nodes_are_public."
        )
    if nodes.roster is not None:
        _refuse_other_roster(store, nodes)
    stream = Stream(
        lambda: iter(store),
        length=lambda: len(store),
        description=f"{path.name or path}, prepared",
        times=store.manifest.times,
        prepared=True,
        nodes=max((entry.nodes for entry in store.manifest.snapshots), default=None),
    )
    stream.held_back = store.manifest.held_back
    return stream


def _refuse_other_roster(store: Store, nodes: Nodes) -> None:
    """Refuse a roster that is not the one the store was prepared with."""
    for number, entry in enumerate(store.manifest.snapshots):
        roster = nodes.at(entry.time)
        if roster is None or roster.digest != entry.roster:
            raise RosterError(
                f"{store.path} was prepared with another roster than the one given (timestamp "
                f"{number})\nLeave the roster out to use that of the store, or prepare the store "
                "again with the new one."
            )
