"""How the public set of nodes was obtained, as declared by the publisher.

======== ==================================================================================
given    a roster from outside, listed independently of the edges
nodes    the nodes of a graph object (networkx, igraph, SciPy), declared public
edges    the nodes that have an edge: node presence becomes public
======== ==================================================================================

Software can't tell whether a list of nodes was made without looking at the edges. It can make the
publisher say so, and repeat that statement, as the publisher's, in every certificate.
"""

from __future__ import annotations

from typing import Literal

from psgraph.errors import InvalidArgument, RosterError

__all__ = ["DECLARATIONS", "Declared", "declare"]

Declared = Literal["given", "nodes", "edges"]
DECLARATIONS: tuple[Declared, ...] = ("given", "nodes", "edges")


def declare(
    roster: object | None,
    *,
    roster_from_edges: bool = False,
    nodes_are_public: bool = False,
) -> Declared:
    """Return which declaration was made; refuse none, and more than one.

    Raises
    ------
    RosterError
        No declaration was made.
    InvalidArgument
        Declarations contradict each other.

    Examples
    --------
    >>> declare([1, 2, 3]), declare(None, roster_from_edges=True)
    ('given', 'edges')
    """
    made = (roster is not None, bool(nodes_are_public), bool(roster_from_edges))
    if sum(made) > 1:
        names = ("a roster", "nodes_are_public", "roster_from_edges")
        given = [name for name, each in zip(names, made, strict=True) if each]
        raise InvalidArgument(
            f"{' and '.join(given)} were both given\n"
            "Keep the roster, unless node presence is public."
        )
    if not any(made):
        raise RosterError(
            "no roster given: who the nodes are must not be guessed from private edges\n"
            "Give one of: roster=… (--roster FILE), the public list of nodes; "
            "nodes_are_public=True, if the nodes of the graph object are a public list that does "
            "not depend on its edges; roster_from_edges=True (--roster-from-edges), which makes "
            "public which nodes have an edge at each timestamp."
        )
    return DECLARATIONS[made.index(True)]
