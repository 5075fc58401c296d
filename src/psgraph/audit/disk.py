"""What a publication leaves on disk.

*Durability*: nothing is measured twice, and nothing is shown before it is sealed. The checks
publish a small stream into a temporary directory through the real publisher and ledger, interrupt
it, and start again. The crash tests of the project do the same with real kills at every system
call.

*Side information*: two neighbouring streams are published by the command itself, with one forced
transcript. Releases, certificates, node lists, the output of the command with and without
``--json``, and the public report must then be equal byte by byte: file names, sizes, order, types
and metadata included. The ledger is left out: it holds fingerprints of the data, and is for the
curator only. So are running times, which the promise does not cover.
"""

from __future__ import annotations

import io
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from psgraph.audit.neighbours import Neighbours
from psgraph.audit.reach import Reach
from psgraph.audit.transcripts import Divergence, Recorder, Transcript
from psgraph.errors import LedgerError, MeasuringStopped, PsgraphError, ReplayConflict
from psgraph.graph import Kind, Roster, Snapshot
from psgraph.methods.base import Method
from psgraph.privacy.budget import composed
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.publication.certificate import Certificate
from psgraph.publication.ledger import Ledger
from psgraph.publication.ledger.attempts import MOST_ATTEMPTS
from psgraph.publication.measurement import Measured, Seal
from psgraph.publication.publisher import Publisher
from psgraph.publication.records import encode
from psgraph.publication.release_directory import ReleaseDirectory

__all__ = ["FAILED", "broken_durability", "differing_output"]

GUARANTEE = WEventPrivacy(4, window=2)
NODES = 60

#: The method could not publish at all, so there is nothing to compare.
FAILED = "publishing failed"

#: Running times, which the promise does not cover, and what is only shown after two seconds.
_TIMES = re.compile(r'"seconds": \{[^}]*\},?|^Seconds.*(?:\n .*)*|^.* …\n', re.MULTILINE)


# ---- durability ----


class _PowerCut(Exception):
    """Replaces the end of the process."""


def broken_durability(method: Callable[[], Method[Any, Any]]) -> list[str]:
    """Return what is wrong with publications of a method on disk; nothing if all is well."""
    found = []
    for check in (_interrupted, _handed_back, _remade, _other_data, _unsealed, _often_cut):
        with tempfile.TemporaryDirectory() as directory:
            try:
                problem = check(method, Path(directory) / "releases")
            except (PsgraphError, AssertionError) as error:
                problem = f"{type(error).__name__}: {error}".splitlines()[0]
                problem = problem.replace(f"{directory}{os.sep}", "")
            if problem:
                found.append(problem)
    return found


def _stream() -> list[Snapshot]:
    random = np.random.default_rng(3)
    made = []
    for _ in range(3):
        ends = np.argwhere(np.triu(random.random((NODES, NODES)) < 0.15, 1))
        made.append(Snapshot(Roster.range(NODES), ends[:, 0], ends[:, 1]))
    return made


def _publish(
    method: Callable[[], Method[Any, Any]], out: Path, stream: list[Snapshot]
) -> list[Certificate]:
    with Publisher(method(), GUARANTEE, out=out) as publisher:
        return [release.certificate for release in publisher.publish_all(stream)]


def _files(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(out.glob("[0-9]*.*"))}


@contextmanager
def _cut_before_writing() -> Iterator[None]:
    real = ReleaseDirectory.write

    def cut(*_: Any) -> None:
        raise _PowerCut

    ReleaseDirectory.write = cut  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        ReleaseDirectory.write = real  # type: ignore[method-assign]


def _interrupted(method: Callable[[], Method[Any, Any]], out: Path) -> str | None:
    """A run that ends between sealing and writing keeps what it sealed."""
    stream = _stream()
    try:
        with _cut_before_writing():
            _publish(method, out, stream[:1])
    except _PowerCut:
        pass
    else:
        return "a release was shown that was not written"
    if _files(out):
        return "files were written before the cut"
    with Publisher(method(), GUARANTEE, out=out) as publisher:
        spent = publisher.spending
        if len(_files(out)) != 2:
            return "a sealed timestamp was not released after a restart"
        before = _files(out)
        publisher.publish(stream[0], timestamp=0)
        if publisher.spending.timestamps != spent.timestamps or spent.timestamps != 1:
            return "a timestamp that was sealed before the cut was not charged, or charged twice"
    return None if _files(out) == before else "a restart changed a release"


def _handed_back(method: Callable[[], Method[Any, Any]], out: Path) -> str | None:
    """A second run over the same stream spends nothing and changes nothing."""
    certificates = _publish(method, out, _stream())
    spent = [certificate.spent for certificate in certificates]
    if any(composed(certificate.charges) > certificate.spent for certificate in certificates):
        return "a timestamp is charged less than what it measured"
    before = _files(out)
    again = _publish(method, out, _stream())
    if _files(out) != before:
        return "publishing again changed a release"
    if [certificate.spent for certificate in again] != spent:
        return "publishing again was charged differently"
    with Publisher(method(), GUARANTEE, out=out) as publisher:
        spending = publisher.spending
    if spending.timestamps != len(spent):
        return "publishing again was charged again"
    recent = tuple(spent[-GUARANTEE.window :])
    return None if spending.spends == recent else "a restart forgot what was spent"


def _remade(method: Callable[[], Method[Any, Any]], out: Path) -> str | None:
    """A lost release is made again from sealed values, to the same bytes."""
    _publish(method, out, _stream())
    before = _files(out)
    (out / "000002.parquet").unlink()
    _publish(method, out, _stream())
    return None if _files(out) == before else "a lost release was drawn again"


def _other_data(method: Callable[[], Method[Any, Any]], out: Path) -> str | None:
    """A timestamp that comes again with other edges is refused."""
    stream = _stream()
    _publish(method, out, stream)
    other = Snapshot(stream[0].roster, stream[0].u[1:], stream[0].v[1:])
    try:
        _publish(method, out, [other, *stream[1:]])
    except ReplayConflict:
        return None
    return "a published timestamp was accepted with other edges"


@contextmanager
def _failing_seals(failures: int, error: Exception) -> Iterator[list[bytes]]:
    """Let the first seals fail; collect what was to be sealed each time."""
    real, offered = Ledger.seal, list[bytes]()

    def seal(self: Ledger, measured: Measured) -> Seal:
        offered.append(encode(measured.measurement)[0] + b"%d" % measured.seed)
        if len(offered) <= failures:
            raise error
        return real(self, measured)

    Ledger.seal = seal  # type: ignore[method-assign]
    try:
        yield offered
    finally:
        Ledger.seal = real  # type: ignore[method-assign]


def _unsealed(method: Callable[[], Method[Any, Any]], out: Path) -> str | None:
    """A measurement that could not be sealed is sealed later; nothing is drawn instead."""
    stream = _stream()
    with (
        Publisher(method(), GUARANTEE, out=out) as publisher,
        _failing_seals(2, LedgerError("no space")) as offered,
    ):
        for _ in range(2):
            with suppress(LedgerError):
                publisher.publish(stream[0])
        if len(set(offered)) > 1:
            return "a failed seal was drawn again"
        try:
            publisher.publish(stream[1])
        except ReplayConflict:
            publisher.publish(stream[0])
        else:
            return "other edges were accepted for a timestamp that was measured"
    return None if len(set(offered)) == 1 else "another draw was sealed than the first"


def _often_cut(method: Callable[[], Method[Any, Any]], out: Path) -> str | None:
    """A run that ends between measuring and sealing, again and again, is stopped."""
    stream = _stream()
    with _failing_seals(2 * MOST_ATTEMPTS, _PowerCut()) as offered:
        for _ in range(2 * MOST_ATTEMPTS):
            with suppress(_PowerCut, MeasuringStopped):
                _publish(method, out, stream[:1])
    drawn = len(set(offered))
    return None if drawn <= MOST_ATTEMPTS else f"a timestamp was drawn {drawn} times, never sealed"


# ---- side information ----


def differing_output(method: str, pair: Neighbours, reach: Reach | None = None) -> list[str]:
    """Return what differs between the published output of two neighbours; nothing if none does.

    Parameters
    ----------
    method
        The name of an installed method.
    reach
        Where to note what was reached.
    """
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        recorder = Recorder(seed=1, answers=pair.answers)
        try:
            mine = _published(method, pair, Path(one), recorder, neighbour=False)
            if not mine["publish --json"].startswith(b"exit 0"):
                return [FAILED]
            forced: list[Transcript] = recorder.transcripts
            if reach is not None:
                reach.asked("directories", forced, pair.kind)
            theirs = _published(method, pair, Path(other), Recorder(forced), neighbour=True)
        except (Divergence, PsgraphError, IndexError) as error:
            return [f"{type(error).__name__}: {error}".splitlines()[0]]
    names = sorted(mine.keys() | theirs.keys())
    return [name for name in names if mine.get(name) != theirs.get(name)]


def _published(
    method: str, pair: Neighbours, directory: Path, recorder: Recorder, *, neighbour: bool
) -> dict[str, bytes]:
    """Everything that publishing a stream shows, by name."""
    _write_input(pair, directory, neighbour=neighbour)
    publish = [
        *("publish", "edges.parquet", *_options(pair.kind), "--out", "out", "--seed", "1"),
        *("--times", f"0..{len(pair.one) - 1}", "--epsilon", str(pair.guarantee.epsilon)),
        *("--window", str(pair.guarantee.window)),
        *("--method", method),
    ]
    shown: dict[str, bytes] = {}
    with chdir(directory):  # so that no path is longer for one than for the other
        with recorder.listening():
            shown["publish --json"] = _said([*publish, "--json"])
        shown["publish again"] = _said(publish)
        shown["verify"] = _said(["verify", "out", "--report", "public.html"])
        shown["verify --json"] = _said(["verify", "out", "--json"])
        shown["budget"] = _said(["budget", "out"])
    if (report := directory / "public.html").exists():  # needs the extra [report]
        shown["the public report"] = report.read_bytes()
    for path in sorted((directory / "out").rglob("*")):
        if path.is_file() and "ledger" not in path.name:
            shown[str(path.relative_to(directory))] = path.read_bytes()
    return shown


def _said(arguments: list[str]) -> bytes:
    """Standard output and error of a command."""
    # By name, since the command line is a layer above this one.
    run = import_module("psgraph.cli").run
    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        code = run(arguments)
    return _TIMES.sub("", f"exit {code}\n{said.getvalue()}").encode()


def _write_input(pair: Neighbours, directory: Path, *, neighbour: bool) -> None:
    stream = pair.other if neighbour else pair.one
    rows: dict[str, list[int]] = {"t": [], "u": [], "v": []}
    if pair.kind.weighted:
        rows["weight"] = []
    for timestamp, snapshot in enumerate(stream):
        heads, tails = snapshot.roster.end_ids(snapshot.u, snapshot.v)
        rows["t"] += [timestamp] * snapshot.u.size
        rows["u"] += heads.tolist()
        rows["v"] += tails.tolist()
        if snapshot.weight is not None:
            rows["weight"] += snapshot.weight.tolist()
    pq.write_table(
        pa.table({name: pa.array(row, pa.int64()) for name, row in rows.items()}),
        directory / "edges.parquet",
    )
    for side, name in enumerate(_rosters(pair.kind)):
        first, left = dict[int, int](), dict[int, int]()
        for timestamp, snapshot in enumerate(stream):
            for node in snapshot.roster.sides[side].ids.tolist():
                first.setdefault(node, timestamp)
                left[node] = timestamp + 1
        lines = ["id,from,until", *(f"{node},{first[node]},{left[node]}" for node in first)]
        (directory / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _rosters(kind: Kind) -> tuple[str, ...]:
    """The options that name the rosters of a kind, and the names of their files."""
    return ("left", "right") if kind.two_sided else ("roster",)


def _options(kind: Kind) -> list[str]:
    """The options that say of which kind a stream is."""
    rosters = [each for name in _rosters(kind) for each in (f"--{name}", f"{name}.csv")]
    directed = ["--directed"] if kind.directed else []
    weights = ["--weights", str(kind.largest_weight)] if kind.weighted else []
    return [*rosters, *directed, *weights]
