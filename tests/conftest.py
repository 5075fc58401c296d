"""What all tests share: hypothesis settings, slow and long tests, random order, real data."""

from __future__ import annotations

import os
import random
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


# Left out by `make check`: many processes, kills, browsers, clusters, long attacks, whole pages.
SLOW = (
    "tests/audit/",
    "tests/cli/test_core_install.py",
    "tests/cli/test_demo.py",
    "tests/cli/test_durable.py",
    "tests/crash/",
    "tests/docs/",
    "tests/engines/test_dask",
    "tests/engines/test_object_store.py",
    "tests/examples/",
    "tests/lab/",
    "tests/privacy/test_exact_privacy.py",
    "tests/publication/test_fuzz.py",
    "tests/publication/test_long_run.py",
    "tests/publication/test_tampering.py",
    "tests/publication/test_warmup.py",
    "tests/real/",
    "tests/reports/",
    "tests/service/",
)


# Left to `make long`: on more seeds, cells, kinds or kills what `make test` does in small.
LONG = tuple(Path(__file__).with_name("long.txt").read_text(encoding="utf-8").splitlines())


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--shuffle", type=int, metavar="SEED", help="run tests in a random order")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith(SLOW):
            item.add_marker(pytest.mark.slow)
        if item.nodeid.startswith(LONG):
            item.add_marker(pytest.mark.long)
    if (seed := config.getoption("--shuffle")) is not None:
        random.Random(seed).shuffle(items)


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The directory with the real streams, or a skip that says how to get it."""
    directory = os.environ.get("PSGRAPH_DATA")
    if not directory:
        pytest.skip("set PSGRAPH_DATA to the directory with as733.parquet and ascaida.parquet")
    return Path(directory)
