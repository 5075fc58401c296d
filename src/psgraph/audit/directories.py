"""Side information: what two neighbouring streams leave behind, byte by byte.

Both are published to disk with one forced transcript, by the command itself. Releases,
certificates, node lists, the output of the command with and without ``--json``, and the public
report must then be the same: file names, sizes, order, types and metadata included. The ledger is
left out: it holds the fingerprints of the data, and is for the curator only. So are running
times, which the promise does not cover.
"""

from __future__ import annotations

import io
import re
import tempfile
from contextlib import chdir, redirect_stderr, redirect_stdout
from importlib import import_module
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from psgraph.audit.neighbours import Neighbours
from psgraph.audit.transcripts import Divergence, Recorder, Transcript
from psgraph.errors import PsgraphError

__all__ = ["FAILED", "differing_output"]

#: The method could not publish at all, so that there is nothing to compare.
FAILED = "publishing failed"

#: Running times, which the promise does not cover, and what is only shown after two seconds.
_TIMES = re.compile(r'"seconds": \{[^}]*\},?|^Seconds.*(?:\n .*)*|^.* …\n', re.MULTILINE)


def differing_output(method: str, pair: Neighbours) -> list[str]:
    """Return what differs between the published output of two neighbours; nothing if none does.

    Parameters
    ----------
    method
        The name of an installed method.
    """
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        recorder = Recorder(seed=1)
        try:
            mine = _published(method, pair, Path(one), recorder, neighbour=False)
            if not mine["publish --json"].startswith(b"exit 0"):
                return [FAILED]
            forced: list[Transcript] = recorder.transcripts
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
        *("publish", "edges.parquet", "--roster", "nodes.csv", "--out", "out", "--seed", "1"),
        *("--times", f"0..{len(pair.one) - 1}", "--epsilon", "2", "--window", str(pair.window)),
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
    for timestamp, snapshot in enumerate(stream):
        for u, v in zip(snapshot.u.tolist(), snapshot.v.tolist(), strict=True):
            rows["t"].append(timestamp)
            rows["u"].append(u)
            rows["v"].append(v)
    pq.write_table(
        pa.table({name: pa.array(row, pa.int64()) for name, row in rows.items()}),
        directory / "edges.parquet",
    )
    first: dict[int, int] = {}
    for timestamp, snapshot in enumerate(stream):
        for node in snapshot.roster.ids.tolist():
            first.setdefault(node, timestamp)
    lines = ["id,from", *(f"{node},{since}" for node, since in first.items())]
    (directory / "nodes.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
