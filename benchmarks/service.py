"""How fast the service answers: reading a release and posting a snapshot, with 1, 20, 200 clients.

Prints a table in Markdown, beside the time that publishing the same data takes without a service.
Everything runs on this machine, over loopback: clients and server share its cores.

    python benchmarks/service.py --seconds 5
"""

from __future__ import annotations

import argparse
import http.client
import os
import platform
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.service.scenario import CSV, as_csv, edges, new_stream, roster
from tests.service.server import API, Server

import psgraph as pg
from psgraph.methods.registry import find_method

CLIENTS = (1, 20, 200)
EDGES_PER_NODE = 2  # of the generated graphs: a ring and as many chords
TERMS = {"epsilon": "1", "window": 10}

Work = Callable[[http.client.HTTPConnection, int], int]


@dataclass
class Load:
    """What some clients measured: seconds of every answered request, and how many were refused."""

    seconds: list[float] = field(default_factory=list)
    refused: int = 0
    failed: int = 0
    elapsed: float = 0.0

    def row(self, name: str, clients: int) -> str:
        if not self.seconds:
            return f"| {name} | {clients} | – | – | – | {self.refused} |"
        ordered = sorted(self.seconds)
        p99 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
        rate = len(ordered) / self.elapsed
        return (
            f"| {name} | {clients} | {rate:,.0f} | {statistics.median(ordered) * 1e3:,.1f} | "
            f"{p99 * 1e3:,.1f} | {self.refused} |"
        )


def load(server: Server, clients: int, seconds: float, work: Work) -> Load:
    """Have clients send requests for some seconds, each over a connection that stays open."""
    result, lock = Load(), threading.Lock()
    begin = time.monotonic() + 0.2
    end = begin + seconds

    def client(number: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
        time.sleep(max(0.0, begin - time.monotonic()))
        while time.monotonic() < end:
            started = time.perf_counter()
            try:
                status = work(connection, number)
            except (OSError, http.client.HTTPException):
                connection.close()
                with lock:
                    result.failed += 1
                continue
            taken = time.perf_counter() - started
            with lock:
                if status in (200, 202):
                    result.seconds.append(taken)
                elif status in (409, 429, 503):
                    result.refused += 1
                else:
                    result.failed += 1
            if status == 503:
                time.sleep(0.05)
        connection.close()

    threads = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    result.elapsed = time.monotonic() - begin
    return result


def ask(
    server: Server,
    connection: http.client.HTTPConnection,
    method: str,
    path: str,
    body: bytes | None = None,
) -> int:
    headers = {"Authorization": f"Bearer {server.token}", **(CSV if body else {})}
    connection.request(method, API + path, body, headers)
    response = connection.getresponse()
    response.read()
    return response.status


def reading(server: Server, stream: str) -> Work:
    return lambda connection, _: ask(
        server, connection, "GET", f"/streams/{stream}/releases/0/edges"
    )


def posting(server: Server, streams: list[str], bodies: list[bytes]) -> Work:
    """Every client posts to a stream of its own, one timestamp after the other."""
    following = dict.fromkeys(range(len(streams)), 0)

    def work(connection: http.client.HTTPConnection, number: int) -> int:
        timestamp = following[number]
        path = f"/streams/{streams[number]}/snapshots/{timestamp}"
        status = ask(server, connection, "POST", path, bodies[timestamp % len(bodies)])
        if status in (200, 202):
            following[number] = timestamp + 1
        return status

    return work


def bare(directory: Path, bodies: list[bytes], nodes: int, method: str) -> list[float]:
    """Seconds of each timestamp, published without a service, with reading the same CSV."""
    (directory / "nodes.csv").write_bytes(roster(nodes))
    inbox = directory / "inbox"
    inbox.mkdir()
    for number, body in enumerate(bodies):
        (inbox / f"{number:04d}.csv").write_bytes(body)
    stream = pg.read_stream(inbox, roster=directory / "nodes.csv")
    taken = []
    guarantee = pg.WEventPrivacy(**TERMS)  # type: ignore[arg-type]
    publisher = pg.Publisher(find_method(method)(), guarantee, out=directory / "out")
    with publisher:
        started = time.perf_counter()
        for _ in publisher.publish_all(stream):
            taken.append(time.perf_counter() - started)
            started = time.perf_counter()
    return taken


def until_released(server: Server, streams: list[str], begin: dict[str, int]) -> tuple[int, float]:
    """Wait for what is queued; the number of releases since `begin` and the seconds it took."""
    started = time.monotonic()
    while True:
        views = {each["name"]: each for each in server.call("GET", "/streams").json}
        states = [
            server.call("GET", f"/streams/{name}/timestamps/{views[name]['released']}").status
            for name in streams
        ]
        if all(status == 404 for status in states):
            break
        time.sleep(0.2)
    released = sum(views[name]["released"] - begin[name] for name in streams)
    return released, time.monotonic() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each measurement")
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--method", default="psgraph-plus")
    chosen = parser.parse_args()
    bodies = [as_csv(edges(number, nodes=chosen.nodes)) for number in range(20)]
    print(
        f"{os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}, "
        f"psgraph {pg.__version__}; {chosen.nodes:,} nodes and about "
        f"{EDGES_PER_NODE * chosen.nodes:,} edges a snapshot ({len(bodies[0]):,} bytes of CSV), "
        f"{chosen.method}, {chosen.seconds:g} s each\n"
    )
    with tempfile.TemporaryDirectory(prefix="psgraph-load-") as temporary:
        base = Path(temporary)
        times = bare(base, bodies, chosen.nodes, chosen.method)[1:]
        options = ("--rate", "1000000", "--uploads", "64")
        with Server(base / "service", *options) as server:
            measure(server, bodies, chosen)
    print(
        f"\nBare `publish` of the same snapshots: {statistics.median(times) * 1e3:,.1f} ms a "
        f"timestamp (median), {len(times) / sum(times):,.0f} a second."
    )


def measure(server: Server, bodies: list[bytes], chosen: argparse.Namespace) -> None:
    def stream() -> str:
        return new_stream(server, nodes=chosen.nodes, method=chosen.method, **TERMS)

    first = stream()
    assert server.call("POST", f"/streams/{first}/snapshots/0", body=bodies[0], headers=CSV).status
    while server.call("GET", f"/streams/{first}/releases/0").status != 200:
        time.sleep(0.1)
    print("| request | clients | answers/s | p50, ms | p99, ms | refused (429, 503) |")
    print("|---|--:|--:|--:|--:|--:|")
    for clients in CLIENTS:
        result = load(server, clients, chosen.seconds, reading(server, first))
        print(result.row("read a release (Parquet)", clients), flush=True)
        assert not result.failed, result.failed
    notes = []
    for clients in CLIENTS:
        streams = [stream() for _ in range(clients)]
        begin = dict.fromkeys(streams, 0)
        started = time.monotonic()
        result = load(server, clients, chosen.seconds, posting(server, streams, bodies))
        print(result.row("post a snapshot", clients), flush=True)
        assert not result.failed, result.failed
        released, _ = until_released(server, streams, begin)
        rate = released / (time.monotonic() - started)
        notes.append(f"{clients}: {released:,} releases, {rate:,.0f} a second")
    print("\nReleased by the worker while and after snapshots were posted, by clients: ", end="")
    print("; ".join(notes) + ".")


if __name__ == "__main__":
    main()
