"""For authors of plug-ins: does a method, query, metric or engine keep its protocol?

Needs no test framework; call it from any test::

    from psgraph.testing import check_method, check_query

    def test_my_query():
        check_query(lambda nodes: MyQuery())

    def test_my_method():
        check_method(MyMethod())

`check_engine` does the same for an engine.
"""

from __future__ import annotations

from psgraph.testing.conformance import Conformance, check_method
from psgraph.testing.engines import EngineConformance, check_engine
from psgraph.testing.metrics import check_metric
from psgraph.testing.queries import QueryConformance, check_query

__all__ = [
    "Conformance",
    "EngineConformance",
    "QueryConformance",
    "check_engine",
    "check_method",
    "check_metric",
    "check_query",
]
