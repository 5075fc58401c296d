"""For authors of methods and engines: does a method or an engine keep its protocol?

Needs no test framework; call it from any test::

    from psgraph.testing import check_method

    def test_my_method():
        check_method(MyMethod())

`check_engine` does the same for an engine.
"""

from __future__ import annotations

from psgraph.testing.conformance import Conformance, check_method
from psgraph.testing.engines import EngineConformance, check_engine

__all__ = ["Conformance", "EngineConformance", "check_engine", "check_method"]
