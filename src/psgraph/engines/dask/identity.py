"""What has to be the same on the driver and on all workers, so that they give the same edges."""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from importlib.metadata import version
from pathlib import Path

import psgraph
from psgraph._version import __version__
from psgraph.errors import EngineError

__all__ = ["check_identity", "identity", "identity_digest"]


@cache
def identity() -> dict[str, str]:
    """Return the versions, and a digest of psgraph's source code, by what they are of.

    >>> list(identity())
    ['psgraph', 'code of psgraph', 'python', 'numpy', 'numba', 'pyarrow', 'processor']
    """
    return {
        "psgraph": __version__,
        "code of psgraph": _code_digest(),
        "python": ".".join(platform.python_version_tuple()[:2]),
        **{name: version(name) for name in ("numpy", "numba", "pyarrow")},
        "processor": platform.machine(),
    }


@cache
def identity_digest() -> str:
    """Return a digest of `identity`, which every task carries."""
    return hashlib.sha256(repr(sorted(identity().items())).encode()).hexdigest()


def check_identity(expected: str) -> None:
    """Refuse to run a task of a driver that has other code.

    Workers are checked when the driver connects; one may have joined the cluster later.
    """
    if expected != identity_digest():
        raise EngineError(
            f"a worker joined the cluster with other software than the driver: psgraph "
            f"{__version__} on {platform.node()}\n"
            "Install the same versions of psgraph, NumPy, numba and PyArrow everywhere."
        )


def _code_digest() -> str:
    root = Path(psgraph.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(root).as_posix()} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()[:16]
