"""Methods turn snapshots into synthetic graphs; `base` has the protocol all of them follow."""

from __future__ import annotations

__all__ = ["DEFAULT_METHOD"]

DEFAULT_METHOD = "psgraph"
"""The method that commands and functions use unless another one is named."""
