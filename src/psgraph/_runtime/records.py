"""What a dataclass says about how its fields are stored."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["UNSTORED_DEFAULT"]

#: Metadata of a field that is not stored at its default: for fields that a later version adds to
#: a record, so that records without them keep their bytes.
UNSTORED_DEFAULT: Mapping[str, bool] = {"unstored_default": True}
