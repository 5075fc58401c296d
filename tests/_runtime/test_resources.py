"""That freed memory is kept, where the system's allocator can be told so."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

from psgraph._runtime.resources import keep_freed_memory

FAULTS = """
import resource
import numpy as np
from psgraph._runtime.resources import keep_freed_memory
{told}
np.ones(4_000_000)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    np.ones(4_000_000)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(told: str) -> int:
    run = subprocess.run(
        [sys.executable, "-c", FAULTS.format(told=told)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return int(run.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc can be told")
def test_arrays_are_made_of_pages_that_are_there():
    assert faults("keep_freed_memory()") * 5 < max(faults(""), 100)


def test_nothing_happens_elsewhere(monkeypatch):
    monkeypatch.setattr(sys, "platform", "plan9")
    assert keep_freed_memory() is False
