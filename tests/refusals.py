"""Expect an error by its type and code: messages may be reworded."""

from __future__ import annotations

from typing import TypeVar

import pytest

from psgraph.errors import PsgraphError

Refusal = TypeVar("Refusal", bound=PsgraphError)


def refused(error: type[Refusal], code: str) -> pytest.RaisesExc[Refusal]:
    """Expect an error with this `code` in a ``with`` block."""
    return pytest.raises(error, check=lambda found: found.code == code)
