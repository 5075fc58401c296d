"""For authors of plug-ins: does a method or a query keep its protocol?

Needs no test framework; call it from any test::

    from psgraph.testing import check_method, check_query

    def test_my_query():
        check_query(lambda nodes: MyQuery())

    def test_my_method():
        check_method(MyMethod())
"""

from __future__ import annotations

from psgraph.testing.conformance import Conformance, check_method
from psgraph.testing.queries import QueryConformance, check_query

__all__ = ["Conformance", "QueryConformance", "check_method", "check_query"]
