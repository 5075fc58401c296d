"""What all tests share: repeatable hypothesis settings and where the real data are."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

# The first call of a kernel compiles it, which no per-example deadline would survive.
settings.register_profile("psgraph", deadline=None, print_blob=True)
settings.load_profile("psgraph")

# A shell that runs the tests in the background has Ctrl-C ignored, and the commands that tests
# start would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The directory with the real streams, or a skip that says how to get it."""
    directory = os.environ.get("PSGRAPH_DATA")
    if not directory:
        pytest.skip("set PSGRAPH_DATA to the directory with as733.parquet and ascaida.parquet")
    return Path(directory)
