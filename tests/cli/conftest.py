"""Input files that many tests read and no test changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from .commands import write_inputs


@pytest.fixture(scope="session")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One stream in every form (csv, parquet, directory, events) and its roster."""
    return write_inputs(tmp_path_factory.mktemp("inputs"))
