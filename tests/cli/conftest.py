"""Input files that many tests read and no test changes, and an environment of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .commands import write_inputs

#: What changes how commands print, wherever the tests are run.
_LOOKS = (
    *("COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"),
    *("TTY_COMPATIBLE", "TTY_INTERACTIVE", "PSGRAPH_DEBUG", "PSGRAPH_TOKEN"),
)


@pytest.fixture(scope="session", autouse=True)
def _plain_environment() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as environment:
        for name in _LOOKS:
            environment.delenv(name, raising=False)
        environment.setenv("PYTHONUTF8", "1")  # commands print ε
        yield


@pytest.fixture(scope="session")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One stream in every form (csv, parquet, directory, events) and its roster."""
    return write_inputs(tmp_path_factory.mktemp("inputs"))
