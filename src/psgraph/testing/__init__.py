"""For authors of methods and metrics: does mine keep the protocol?

Needs no test framework; call it from any test::

    from psgraph.testing import check_method

    def test_my_method():
        check_method(MyMethod())
"""

from __future__ import annotations

from psgraph.testing.conformance import Conformance, check_method
from psgraph.testing.metrics import check_metric

__all__ = ["Conformance", "check_method", "check_metric"]
