"""For authors of methods: does a method keep the protocol?

Needs no test framework; call it from any test::

    from psgraph.testing import check_method

    def test_my_method():
        check_method(MyMethod())
"""

from __future__ import annotations

from psgraph.testing.conformance import Conformance, check_method

__all__ = ["Conformance", "check_method"]
