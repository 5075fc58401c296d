"""Publish a graph that changes over time without giving away who is connected to whom.

A guided tour::

    import psgraph as pg

    # All in one call. Calling it again costs nothing: what is sealed is never drawn twice.
    releases = pg.publish("edges.parquet", roster="nodes.csv", epsilon=1, window=5, out="releases")

    # Step by step: the public nodes, and the private edges at every timestamp, read one at a time
    # from files, a data frame or a list of graphs.
    stream = pg.read_stream("edges.parquet", roster="nodes.csv")

    # The promise: over any 5 consecutive timestamps, all releases are private with ε = 1.
    guarantee = pg.WEventPrivacy(epsilon="1", window=5)

    # How noisy that would be, before anything is spent.
    pg.plan(guarantee, nodes=10_000)

    # Publish. Every release is a synthetic graph with a certificate of what was spent, and what
    # is sealed in the ledger (releases.ledger/) is never drawn twice.
    with pg.Publisher(pg.PSGraph(), guarantee, out="releases") as publisher:
        releases = list(publisher.publish_all(stream))
        publisher.spending

    releases[0].graph.to_networkx()
    releases[0].certificate.spent

    # Analysts read the directory back; every file is checked against its certificate.
    pg.verify("releases")
    pg.read_releases("releases")[0].graph

    # How far can they be trusted? Predicted from the releases alone; costs no ε.
    pg.expected_errors("releases").verdicts

    # The folder to hand out: all that is public, and nothing else.
    pg.export_releases("releases", to="for-analysts")

    # For the curator only, since it contains the truth: how good are they?
    pg.compare(stream, "releases").plot()

    # For research, on data that need no protection: which method suits such a stream?
    pg.evaluate(stream, methods=["psgraph", "tmf"], epsilons=[0.5, 1, 2], window=5).plot()

Everything below is imported when first used, so that ``import psgraph`` is instant.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from psgraph._version import __version__

if TYPE_CHECKING:
    from psgraph.errors import (
        BudgetError,
        BudgetExceeded,
        DataError,
        InvalidArgument,
        PsgraphError,
    )
    from psgraph.graph import Roster, Snapshot, SyntheticGraph, TwoSidedRoster
    from psgraph.methods.base import Method
    from psgraph.methods.der import DER
    from psgraph.methods.ldpgen import LDPGen
    from psgraph.methods.plus import PSGraphPlus
    from psgraph.methods.privgraph import PrivGraph
    from psgraph.methods.privhrg import PrivHRG
    from psgraph.methods.psgraph import PSGraph
    from psgraph.methods.tmf import TmF
    from psgraph.metrics.comparison import compare
    from psgraph.metrics.evaluation import evaluate
    from psgraph.privacy.guarantee import WEventPrivacy
    from psgraph.privacy.unit import Owner
    from psgraph.publication.certificate import Certificate, Release
    from psgraph.publication.planning import plan
    from psgraph.publication.publisher import Publisher, publish
    from psgraph.publication.releases import read_releases
    from psgraph.publication.verification import verify
    from psgraph.reports.export import export_releases
    from psgraph.streams import read_stream
    from psgraph.streams.demo import demo_stream
    from psgraph.streams.input import prepare
    from psgraph.streams.rosters import read_roster
    from psgraph.trust.expected import expected_errors

__all__ = [
    "DER",
    "BudgetError",
    "BudgetExceeded",
    "Certificate",
    "DataError",
    "InvalidArgument",
    "LDPGen",
    "Method",
    "Owner",
    "PSGraph",
    "PSGraphPlus",
    "PrivGraph",
    "PrivHRG",
    "PsgraphError",
    "Publisher",
    "Release",
    "Roster",
    "Snapshot",
    "SyntheticGraph",
    "TmF",
    "TwoSidedRoster",
    "WEventPrivacy",
    "__version__",
    "compare",
    "demo_stream",
    "evaluate",
    "expected_errors",
    "export_releases",
    "plan",
    "prepare",
    "publish",
    "read_releases",
    "read_roster",
    "read_stream",
    "verify",
]

_HOME = {
    "BudgetError": "errors",
    "BudgetExceeded": "errors",
    "Certificate": "publication.certificate",
    "DataError": "errors",
    "InvalidArgument": "errors",
    "DER": "methods.der",
    "LDPGen": "methods.ldpgen",
    "Method": "methods.base",
    "Owner": "privacy.unit",
    "PSGraph": "methods.psgraph",
    "PSGraphPlus": "methods.plus",
    "PrivGraph": "methods.privgraph",
    "PrivHRG": "methods.privhrg",
    "PsgraphError": "errors",
    "Publisher": "publication.publisher",
    "Release": "publication.certificate",
    "Roster": "graph",
    "Snapshot": "graph",
    "SyntheticGraph": "graph",
    "TmF": "methods.tmf",
    "TwoSidedRoster": "graph",
    "WEventPrivacy": "privacy.guarantee",
    "compare": "metrics.comparison",
    "demo_stream": "streams.demo",
    "evaluate": "metrics.evaluation",
    "expected_errors": "trust.expected",
    "export_releases": "reports.export",
    "plan": "publication.planning",
    "prepare": "streams.input",
    "publish": "publication.publisher",
    "read_releases": "publication.releases",
    "read_roster": "streams.rosters",
    "read_stream": "streams.input",
    "verify": "publication.verification",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'psgraph' has no attribute {name!r}")
    value = getattr(import_module(f"psgraph.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
