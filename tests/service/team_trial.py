"""Several workers and a web process, killed again and again, with the database they share.

What is counted afterwards is what `crash_trial` counts for one process.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from tests.crash.scenario import Observer
from tests.service.crash_trial import TERMS, Trial
from tests.service.postgres import Postgres
from tests.service.scenario import new_stream

_OBSERVED = 10  # streams whose files are compared after every kill


@dataclass
class TeamTrial(Trial):
    """One campaign on one directory.

    Attributes
    ----------
    postgres
        The database to use and to kill; None: the SQLite file in the directory.
    """

    postgres: Postgres | None = None
    database_kills: int = 0
    releases: int = 0
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.server.options = (*self.server.options, "--workers", "0", *self._database)

    @property
    def _database(self) -> tuple[str, ...]:
        return () if self.postgres is None else ("--database", self.postgres.address)

    def run_team(
        self,
        *,
        workers: int,
        clients: int,
        streams: int,
        kills: int,
        database_kills: int = 0,
        seconds: float = 0.0,
    ) -> None:
        """Post while processes are killed, for at least some seconds, and count at the end."""
        rng = random.Random(self.seed)
        self.server.start()
        try:
            self.streams = [new_stream(self.server, f"s{i:03}", **TERMS) for i in range(streams)]
            self.ticked = new_stream(self.server, "ticked", source="events", period="2s", **TERMS)
            names = [*self.streams[: _OBSERVED - 1], self.ticked]
            observers = {name: Observer(self._out(name)) for name in names}
            self.workers = [self._worker() for _ in range(workers)]
            threads = [
                threading.Thread(target=self._client, args=(random.Random(rng.random()),))
                for _ in range(clients)
            ]
            started, before = time.monotonic(), self._releases()
            for thread in threads:
                thread.start()
            deeds = ["worker"] * kills + ["database"] * database_kills
            rng.shuffle(deeds)
            for number, deed in enumerate(deeds, start=1):
                self._until_released(rng.randint(1, 6))
                left = started + seconds * number / len(deeds) - time.monotonic()
                time.sleep(max(left, 0) + rng.uniform(0, 0.1))
                self._kill(deed, rng)
                for observer in observers.values():
                    observer.look()
            self._over.set()
            for thread in threads:
                thread.join()
            self.releases = self._releases() - before
            self._drain()
            self._ask_again()
            self._check_audit_log()
        finally:
            self._over.set()
            for worker in self.workers:
                worker.terminate()
            for worker in self.workers:
                worker.wait(60)
            self.server.stop()
        for name, observer in observers.items():
            observer.look_at_end(len(list(self._out(name).glob("*.json"))))
            self.violations += [f"{name}: {each}" for each in observer.violations]
        self._count()

    def _worker(self) -> subprocess.Popen[bytes]:
        with self.server.log.open("ab") as log:
            return subprocess.Popen(
                [
                    *(sys.executable, "-m", "psgraph", "worker", str(self.directory)),
                    *self._database,
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )

    def _kill(self, deed: str, rng: random.Random) -> None:
        if deed == "database":
            assert self.postgres is not None
            self.postgres.kill()
            self.database_kills += 1
            self.postgres.start()
            return
        place = rng.randrange(len(self.workers))
        self.workers[place].kill()
        self.workers[place].wait()
        self.kills += 1
        self.workers[place] = self._worker()

    def _continue_stopped(self) -> None:
        """Continue the streams that chance stopped, once a second."""
        time.sleep(1)
        listed = self.server.call("GET", "/streams")
        for view in listed.json if listed.status == 200 else ():
            if view["health"] == "blocked":
                for word in ("measure-again", "catch-up"):
                    self.server.call("POST", f"/streams/{view['name']}/{word}")

    def report(self) -> dict[str, Any]:
        """What was done and what came of it."""
        added = {"database_kills": self.database_kills, "releases_meanwhile": self.releases}
        return {**super().report(), **added}
