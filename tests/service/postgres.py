"""A PostgreSQL of its own on loopback, from the package of the system; killed and started again."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

import pytest

PATIENCE = 60.0


def _program(name: str) -> str | None:
    """The path of a program of PostgreSQL; Debian keeps them out of the path."""
    newest = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True)
    return str(newest[0]) if newest else shutil.which(name)


def _user() -> str | None:
    """A user that PostgreSQL runs as: it refuses root."""
    if os.getuid():
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    return None


def _missing() -> str:
    if find_spec("psycopg") is None:
        return "psycopg is not installed: pip install 'psgraph-dp[postgres]'"
    if _program("initdb") is None or _program("postgres") is None:
        return "PostgreSQL is not installed: apt-get install postgresql"
    if os.getuid() == 0 and _user() is None:
        return "PostgreSQL does not run as root, and there is no other user"
    return ""


needs_postgres = pytest.mark.skipif(bool(_missing()), reason=_missing() or "it is there")


class Postgres:
    """One server for the length of a block."""

    def __enter__(self) -> Self:
        self._home = Path(tempfile.mkdtemp(prefix="psgraph-postgres-"))
        if user := _user():
            shutil.chown(self._home, user)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        initdb = _program("initdb")
        assert initdb is not None
        subprocess.run(
            [initdb, "-D", str(self._data), "-U", "psgraph", "--auth=trust", "--no-sync"],
            check=True,
            stdout=subprocess.DEVNULL,
            **self._options,
        )
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end(signal.SIGINT)  # which ends all connections
        shutil.rmtree(self._home, ignore_errors=True)

    @property
    def _data(self) -> Path:
        return self._home / "data"

    @property
    def _options(self) -> dict[str, Any]:
        return {"cwd": "/", "user": _user(), "stdin": subprocess.DEVNULL}

    @property
    def address(self) -> str:
        return f"postgresql://psgraph@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        """Start it, and wait until it takes connections."""
        import psycopg

        program = _program("postgres")
        assert program is not None
        command = [program, "-D", str(self._data), "-p", str(self.port), "-k", str(self._home)]
        deadline = time.monotonic() + PATIENCE
        self._process: subprocess.Popen[bytes] | None = None
        while time.monotonic() < deadline:
            # Until the processes of a killed server have ended, another one ends at once.
            if self._process is None or self._process.poll() is not None:
                with (self._home / "log").open("ab") as log:
                    self._process = subprocess.Popen(
                        [*command, "-c", "listen_addresses=127.0.0.1"],
                        stdout=log,
                        stderr=log,
                        **self._options,
                    )
            try:
                psycopg.connect(self.address, connect_timeout=2).close()
                return
            except psycopg.OperationalError:
                time.sleep(0.1)
        raise RuntimeError((self._home / "log").read_text()[-3000:])

    def kill(self) -> None:
        """End it without warning."""
        self._end(signal.SIGKILL)

    def _end(self, by: signal.Signals) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(by)
            self._process.wait(PATIENCE)
