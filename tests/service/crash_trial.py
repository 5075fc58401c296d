"""Many clients post the same and other data while the server is killed and restarted.

Afterwards everything is counted: in the ledgers, the releases, the kept originals and the audit
log. What may not be is collected as violations.
"""

from __future__ import annotations

import random
import socket
import threading
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from psgraph.errors import PsgraphError
from psgraph.publication.verification import verify
from tests.crash.scenario import GUARANTEE, Observer
from tests.service.scenario import CSV, NODES, Edges, as_csv, edges, largest_window, new_stream
from tests.service.server import Answer, Server

VARIANTS = 3
EXPECTED = {200, 202, 409, 429, 503}
TERMS: dict[str, Any] = {
    "epsilon": str(GUARANTEE.epsilon),
    "window": GUARANTEE.window,
    "keep_originals_days": 1,  # to compare what was published with what was accepted
}
Event = tuple[int, int, str]


@dataclass
class Trial:
    """One campaign on one directory.

    Attributes
    ----------
    accepted
        The variants of each timestamp that the server said it accepted or released.
    batches
        The batches of events that the server said it accepted.
    maybe
        Batches whose answer was lost: each may be there or not.
    """

    directory: Path
    seed: int = 0
    share_of_events: float = 0.15
    asked_again: int = 1000
    streams: list[str] = field(default_factory=list)
    ticked: str = ""
    accepted: dict[tuple[str, int], set[int]] = field(default_factory=lambda: defaultdict(set))
    batches: dict[str, Event] = field(default_factory=dict)
    maybe: dict[str, Event] = field(default_factory=dict)
    statuses: Counter[int] = field(default_factory=Counter)
    seen: dict[str, bytes] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)
    kills: int = 0
    lost_answers: int = 0
    missing_originals: int = 0

    def __post_init__(self) -> None:
        port = _free_port()
        options = ("--port", str(port), "--rate", "1000000", "--uploads", "64")
        self.server = Server(self.directory, *options)
        self._lock = threading.Lock()
        self._over, self._up = threading.Event(), threading.Event()
        self._up.set()

    def run(self, *, clients: int, kills: int, streams: int = 3, posts: int = 60) -> None:
        """Run the campaign and count at the end. The server is killed after at most `posts`."""
        rng = random.Random(self.seed)
        self.server.start()
        try:
            self.streams = [new_stream(self.server, f"s{i}", **TERMS) for i in range(streams)]
            self.ticked = new_stream(self.server, "ticked", source="events", period="2s", **TERMS)
            names = [*self.streams, self.ticked]
            observers = {name: Observer(self._out(name)) for name in names}
            threads = [
                threading.Thread(target=self._client, args=(random.Random(rng.random()),))
                for _ in range(clients)
            ]
            for thread in threads:
                thread.start()
            for number in range(kills):
                self._until_posted(rng.randint(1, posts))
                if number % 3:  # while the worker publishes; it needs a moment after a start
                    self._until_released(rng.randint(1, 4))
                time.sleep(rng.uniform(0, 0.05))
                self._up.clear()  # requests that are under way stay under way
                self.server.kill()
                self.kills += 1
                for observer in observers.values():
                    observer.look()
                self.server.start()
                self._up.set()
            self._until_posted(posts)
            self._over.set()
            for thread in threads:
                thread.join()
            self._drain()
            self._ask_again()
            self._check_audit_log()
        finally:
            self._over.set()
            self.server.stop()
        for name, observer in observers.items():
            observer.look_at_end(len(list(self._out(name).glob("*.json"))))
            self.violations += [f"{name}: {each}" for each in observer.violations]
        self._count()

    def _out(self, name: str) -> Path:
        return self.directory / "streams" / name / "releases"

    def _until_posted(self, more: int) -> None:
        """Wait until the server has answered this many more posts, or for a few seconds."""
        enough, deadline = self._answered() + more, time.monotonic() + 5
        while self._answered() < enough and time.monotonic() < deadline:
            time.sleep(0.005)

    def _until_released(self, more: int) -> None:
        """Wait until this many more releases are there, or for some seconds."""
        enough, deadline = self._releases() + more, time.monotonic() + 15
        while self._releases() < enough and time.monotonic() < deadline:
            time.sleep(0.002)

    def _releases(self, names: list[str] | None = None) -> int:
        names = [*self.streams, self.ticked] if names is None else names
        return sum(len(list(self._out(name).glob("[0-9]*.json"))) for name in names)

    def _answered(self) -> int:
        return self.statuses.total() - self.statuses[503]

    # ---- the clients ----

    def _client(self, rng: random.Random) -> None:
        while not self._over.is_set():
            self._up.wait(1)
            try:
                chosen = rng.random()
                if chosen < self.share_of_events:
                    self._post_event(rng)
                elif chosen < self.share_of_events + 0.15:
                    self._read(rng)
                else:
                    self._post_snapshot(rng)
            except (OSError, ValueError):
                with self._lock:
                    self.lost_answers += 1
                time.sleep(0.02)
            except Exception as error:  # of http.client: the server was killed while answering
                with self._lock:
                    self.lost_answers += 1
                if not type(error).__module__.startswith("http"):
                    self._violation(f"a client failed: {type(error).__name__}: {error}")

    def _post_snapshot(self, rng: random.Random) -> None:
        stream = rng.choice(self.streams)
        with self._lock:
            following = 1 + max((t for name, t in self.accepted if name == stream), default=-1)
        timestamp = max(0, following - rng.choice([0, 0, 0, 1, 2]))
        variant = rng.randrange(VARIANTS)
        body = as_csv(edges(timestamp, variant=variant))
        answer = self._send("POST", f"/streams/{stream}/snapshots/{timestamp}", body, CSV)
        if answer.status in (200, 202):
            with self._lock:
                self.accepted[stream, timestamp].add(variant)

    def _post_event(self, rng: random.Random) -> None:
        key = f"batch-{rng.randrange(16**12):012x}"
        at = datetime.now(UTC) + timedelta(seconds=1.5)
        u, v = sorted(rng.sample(range(NODES), 2))
        event = u, v, f"{at:%Y-%m-%dT%H:%M:%S.%fZ}"
        with self._lock:
            self.maybe[key] = event
        headers = {**CSV, "Idempotency-Key": key}
        for _ in range(rng.choice([1, 2])):  # the same batch again: it counts once
            path = f"/streams/{self.ticked}/events"
            answer = self._send("POST", path, as_csv([event], "u,v,time"), headers)
            with self._lock:
                if answer.status == 202:
                    self.batches[key] = event

    def _read(self, rng: random.Random) -> None:
        stream = rng.choice([*self.streams, self.ticked])
        listed = self.server.call("GET", f"/streams/{stream}/releases")
        if listed.status != 200 or not listed.json:
            return
        timestamp = rng.choice(listed.json)["timestamp"]
        for part in ("edges", "certificate"):
            path = f"/streams/{stream}/releases/{timestamp}/{part}"
            answer = self.server.call("GET", path)
            if answer.status != 200:
                continue
            with self._lock:
                if self.seen.setdefault(path, answer.body) != answer.body:
                    self.violations.append(f"{path} changed after it was read")

    def _send(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> Answer:
        answer = self.server.call(method, path, body=body, headers=headers)
        with self._lock:
            self.statuses[answer.status] += 1
        if answer.status in (429, 503):
            time.sleep(0.05)
        elif answer.status not in EXPECTED and (answer.status, path[-7:]) != (422, "/events"):
            self._violation(f"{method} {path} was answered with {answer.status}")
        return answer

    def _violation(self, text: str) -> None:
        with self._lock:
            self.violations.append(text)

    # ---- counting ----

    def _drain(self) -> None:
        """Wait until everything that was accepted is released, as long as releases appear."""
        deadline, before = 0.0, -1

        def is_stuck(streams: list[str]) -> bool:
            """Whether there was no new release of these streams for a minute."""
            nonlocal deadline, before
            self._continue_stopped()
            if (released := self._releases(streams)) > before:
                deadline, before = time.monotonic() + 60, released
            return time.monotonic() > deadline

        for (stream, timestamp), _ in sorted(self.accepted.items()):
            path = f"/streams/{stream}/timestamps/{timestamp}"
            while (state := self.server.call("GET", path).json.get("state")) != "released":
                if is_stuck(self.streams):
                    self._violation(f"{stream} {timestamp} was accepted and is {state}")
                    return
                time.sleep(0.02)
        if not self.batches:
            return
        last = max(at for _, _, at in self.batches.values())
        path, before = f"/streams/{self.ticked}/releases", -1
        while not any(_after(each["time"], last) for each in self.server.call("GET", path).json):
            if is_stuck([self.ticked]):
                return  # which events have no release is counted
            time.sleep(0.1)

    def _continue_stopped(self) -> None:
        """Chance killed a timestamp too often, as a curator knows who looked into it.

        On a busy machine so many periods pass between kills that a curator has to confirm them.
        """
        for name in [*self.streams, self.ticked]:
            self.server.call("POST", f"/streams/{name}/measure-again")
        self.server.call("POST", f"/streams/{self.ticked}/catch-up")

    def _ask_again(self) -> None:
        """Post every accepted timestamp again: only the data that was accepted is known."""
        found = sorted(self.accepted.items())
        chosen = random.Random(self.seed).sample(found, min(len(found), self.asked_again))
        for (stream, timestamp), variants in chosen:
            if len(variants) != 1:
                self._violation(f"{stream} {timestamp} was accepted with {len(variants)} data")
            for variant in range(VARIANTS):
                body = as_csv(edges(timestamp, variant=variant))
                path = f"/streams/{stream}/snapshots/{timestamp}"
                status = self.server.call("POST", path, body=body, headers=CSV).status
                if status != (200 if variant in variants else 409):
                    self._violation(f"{stream} {timestamp}: variant {variant} gives {status}")

    def _check_audit_log(self) -> None:
        answer = self.server.call("GET", "/audit-log/verify").json
        if not answer["ok"]:
            self._violation(f"the audit log is broken: {answer['problem']}")

    def _count(self) -> None:
        """Count in ledgers and originals, after the server was stopped."""
        for name in [*self.streams, self.ticked]:
            home = self.directory / "streams" / name
            ledger = home / "releases.ledger" / "ledger.sqlite"
            if largest_window(ledger, GUARANTEE.window) > Fraction(GUARANTEE.epsilon):
                self._violation(f"a window of {name} is overspent")
            try:
                verify(self._out(name))
            except PsgraphError as error:
                self._violation(f"{name} does not verify: {error}")
        for (stream, timestamp), variants in self.accepted.items():
            original = self._original(stream, timestamp)
            if original is not None and all(
                original != _canonical(edges(timestamp, variant=variant)) for variant in variants
            ):
                self._violation(f"{stream} {timestamp} was published from other data")
        self._count_events()
        left = [path.name for path in self.directory.rglob("*.part")]
        if left or any((self.directory / "incoming").iterdir()):
            self._violation(f"left behind: {left}")

    def _count_events(self) -> None:
        """Every accepted event is in the snapshot of its second, and no other event is."""
        from psgraph.publication.release_directory import ReleaseDirectory

        names = [each.time for each in ReleaseDirectory(self._out(self.ticked)).certificates([])]
        expected: dict[int, set[tuple[int, int]]] = defaultdict(set)
        possible: dict[int, set[tuple[int, int]]] = defaultdict(set)
        for batches, target in ((self.batches, expected), (self.maybe, possible)):
            for u, v, at in batches.values():
                found = [i for i, name in enumerate(names) if name and _same_period(name, at)]
                if found:
                    target[found[0]].add((u, v))
                elif target is expected:
                    self._violation("an accepted event has no release")
        for timestamp in range(len(names)):
            original = self._original(self.ticked, timestamp)
            if original is None:
                if expected[timestamp]:
                    self.missing_originals += 1
                continue
            if not expected[timestamp] <= original <= possible[timestamp]:
                missing = len(expected[timestamp] - original)
                invented = len(original - possible[timestamp])
                self._violation(
                    f"timestamp {timestamp}: {missing} accepted events are missing, "
                    f"{invented} were never sent"
                )

    def _original(self, stream: str, timestamp: int) -> set[tuple[int, int]] | None:
        """The edges a timestamp was published from; None if a kill came before they were kept."""
        home = self.directory / "streams" / stream
        file = home / "originals" / f"{timestamp:06d}.parquet"
        if not file.exists():
            return None
        table = pq.read_table(file).to_pydict()
        return _canonical(list(zip(table["u"], table["v"], strict=True)))

    def report(self) -> dict[str, Any]:
        """What was done and what came of it."""
        return {
            "kills": self.kills,
            "posts": sum(self.statuses.values()),
            "statuses": dict(self.statuses),
            "lost_answers": self.lost_answers,
            "accepted": len(self.accepted),
            "events": len(self.batches),
            "missing_originals": self.missing_originals,
            "read": len(self.seen),
            "violations": self.violations,
        }


def _canonical(rows: Edges) -> set[tuple[int, int]]:
    return {(min(u, v), max(u, v)) for u, v in rows if u != v}


def _same_period(name: str, at: str) -> bool:
    """Whether a moment lies in the period of two seconds that begins with `name`."""
    begin = datetime.fromisoformat(name).replace(tzinfo=UTC)
    return 0 <= (datetime.fromisoformat(at) - begin).total_seconds() < 2


def _after(name: str, at: str) -> bool:
    return datetime.fromisoformat(name).replace(tzinfo=UTC) > datetime.fromisoformat(at)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
