"""Comparisons and evaluations as pandas data frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from psgraph.errors import MissingExtra

if TYPE_CHECKING:
    import pandas

__all__ = ["records_to_pandas"]


def records_to_pandas(records: Sequence[dict[str, Any]]) -> pandas.DataFrame:
    """Turn rows, all with the same keys, into a data frame; a missing number becomes NaN."""
    try:
        import pandas
    except ImportError:
        raise MissingExtra("pandas", "pandas") from None
    return pandas.DataFrame.from_records(records)
