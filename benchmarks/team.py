"""Several workers on one service: killed for a minute, and how much they publish.

    python benchmarks/team.py kills    # 3 workers, 200 streams, 30 kills of them, 5 of PostgreSQL
    python benchmarks/team.py rates    # releases a second with 1, 2 and 4 workers
    python benchmarks/team.py many     # memory, restarts and lists with 1,000 streams

Needs PostgreSQL and the extra `postgres`; `--sqlite` does without. Everything is on loopback.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.service.postgres import Postgres
from tests.service.scenario import as_csv, edges, new_stream, post
from tests.service.server import Server
from tests.service.team_trial import TeamTrial

STREAMS, POSTS = 40, 10  # for rates
MANY = 1000
OPTIONS = ("--rate", "1000000", "--uploads", "64", "--workers", "0")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["kills", "rates", "many"])
    parser.add_argument("--sqlite", action="store_true")
    parser.add_argument("--streams", type=int)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--kills", type=int, default=30, help="of workers")
    arguments = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as directory,
        nullcontext() if arguments.sqlite else Postgres() as postgres,
    ):
        found = {"kills": kills, "rates": rates, "many": many}[arguments.what](
            Path(directory) / "data", postgres, arguments
        )
    found["load"] = round(psutil.getloadavg()[0], 1)
    print(json.dumps(found, indent=1))
    sys.exit(bool(found.get("violations")))


def kills(directory: Path, postgres: Postgres | None, arguments: Any) -> dict[str, Any]:
    trial = TeamTrial(directory, seed=int(time.time()), asked_again=100, postgres=postgres)
    trial.run_team(
        workers=3,
        clients=arguments.clients,
        streams=arguments.streams or 200,
        kills=arguments.kills,
        database_kills=5 if postgres else 0,
        seconds=arguments.seconds,
    )
    return {"seed": trial.seed, **trial.report()}


@contextmanager
def team(server: Server, database: tuple[str, ...], workers: int) -> Iterator[list[Any]]:
    command = [sys.executable, "-m", "psgraph", "worker", str(server.directory), *database]
    with server.log.open("ab") as log:
        found = [subprocess.Popen(command, stdout=log, stderr=log) for _ in range(workers)]
    try:
        yield found
    finally:
        for each in found:
            each.terminate()
        for each in found:
            each.wait(60)


def rates(directory: Path, postgres: Postgres | None, arguments: Any) -> dict[str, Any]:
    database = () if postgres is None else ("--database", postgres.address)
    found = {}
    streams = arguments.streams or STREAMS
    with Server(directory, *OPTIONS, *database) as server:
        for workers in (1, 2, 4):
            names = [new_stream(server, f"w{workers}-{i:03}") for i in range(streams)]
            for name in names:
                for timestamp in range(POSTS):
                    assert post(server, name, timestamp, as_csv(edges(timestamp))).status == 202
            with team(server, database, workers):
                while not (first := released(server, names)):
                    time.sleep(0.05)
                started = time.monotonic()
                while (last := released(server, names)) < streams * POSTS:
                    time.sleep(0.05)
                found[workers] = round((last - first) / (time.monotonic() - started), 1)
    return {"database": "PostgreSQL" if postgres else "SQLite", "releases_per_second": found}


def released(server: Server, names: list[str]) -> int:
    folder = server.directory / "streams"
    return sum(len(list((folder / name / "releases").glob("0*.json"))) for name in names)


def many(directory: Path, postgres: Postgres | None, arguments: Any) -> dict[str, Any]:
    database = () if postgres is None else ("--database", postgres.address)
    streams = arguments.streams or MANY
    server = Server(directory, *OPTIONS, *database)
    with server, team(server, database, 1) as workers:
        for i in range(streams):
            name = new_stream(server, f"m{i:04}")
            assert post(server, name, 0, as_csv(edges(0))).status == 202
        names = [f"m{i:04}" for i in range(streams)]
        while released(server, names) < streams:
            time.sleep(0.5)
        memory = {"worker": workers[0].pid, "web": server.pid}
        facts: dict[str, Any] = {
            f"{name}_mb": round(psutil.Process(pid).memory_info().rss / 1e6)
            for name, pid in memory.items()
        }
        for path in ("/streams?limit=100", "/streams", "/streams/m0000"):
            taken = []
            for _ in range(20):
                started = time.perf_counter()
                assert server.call("GET", path).status == 200
                taken.append(1000 * (time.perf_counter() - started))
            quantiles = statistics.quantiles(taken, n=100)
            facts[path] = {"p50_ms": round(quantiles[49], 1), "p99_ms": round(quantiles[98], 1)}
        server.kill()
        started = time.monotonic()
        server.start()
        facts["restart_s"] = round(time.monotonic() - started, 1)
        user, system, *_ = psutil.Process(server.pid).cpu_times()
        facts["restart_cpu_s"] = round(user + system, 1)
    return {"database": "PostgreSQL" if postgres else "SQLite", "streams": streams, **facts}


if __name__ == "__main__":
    main()
