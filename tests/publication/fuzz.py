"""Broken files, rosters, ledgers, records, certificates and arguments of every kind.

Whatever comes in, only typed errors may come out, soon, and without a node id in what they say.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import logging
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from psgraph import cli
from psgraph.errors import PsgraphError
from psgraph.methods.psgraph import PSGraph
from psgraph.publication.certificate import Certificate
from psgraph.publication.ledger import Ledger
from psgraph.publication.locations import ledger_of
from psgraph.publication.publisher import Publisher
from psgraph.publication.records import decode, encode
from psgraph.publication.verification import verify
from psgraph.publication.warmup import warm_up
from psgraph.streams import read_stream
from psgraph.streams.rosters import TimedRoster, read_roster
from tests.crash.scenario import publish, snapshot

PLANTED, PLANTED_NUMBER = "zqplantedqz", 918273645546
LONGEST = 10.0  # seconds of the processor: a busy machine is no failure


class _Log(logging.Handler):
    """Keeps everything that is logged."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.text += record.getMessage()


@contextlib.contextmanager
def nothing_told() -> Iterator[None]:
    """Only typed errors, soon, and no planted node in a message or log."""
    log = _Log()
    logging.getLogger().addHandler(log)
    begin = time.process_time()
    said = ""
    try:
        yield
    except PsgraphError as error:
        said = str(error)
    finally:
        logging.getLogger().removeHandler(log)
    refuse_planted(said + log.text)
    assert time.process_time() - begin < LONGEST


def refuse_planted(text: str) -> None:
    assert PLANTED not in text, text
    assert str(PLANTED_NUMBER) not in text, text


# ---- what comes in ----

_cell = st.one_of(
    st.sampled_from(
        ["", "1", "2", "3", "a", "b", PLANTED, str(PLANTED_NUMBER), "-1", "1.5", "nan", "1e400"]
    ),
    st.sampled_from(["2004-01-05", "2004-13-01", "0", "99999999999999999999", '"', "'", "\ufeff"]),
    st.text(max_size=4),
)
_line = st.one_of(
    st.builds(",".join, st.lists(_cell, max_size=5)),
    st.sampled_from(
        [
            "t,u,v",
            "u,v",
            "u,v,time",
            "id,from,until",
            "node",
            "# comment",
            f"0,{PLANTED},b",
            f"1,{PLANTED_NUMBER},2",
            "",
        ]
    ),
)
_table = st.builds(
    lambda lines, mark, end: end.join(line.replace(",", mark) for line in lines).encode(
        "utf-8", "surrogatepass"
    ),
    st.lists(_line, max_size=12),
    st.sampled_from([",", ",", "\t", " ", ";"]),
    st.sampled_from(["\n", "\n", "\r\n", "\r", "\n\n"]),
)
_column = st.one_of(
    st.lists(st.integers(-5, 5), min_size=3, max_size=3),
    st.just([1, PLANTED_NUMBER, 2]),
    st.just(["a", PLANTED, "b"]),
    st.just([1.0, float("nan"), 2.5]),
    st.just([None, "a", PLANTED]),
    st.just([True, False, None]),
    st.just([b"1", b"2", None]),
    st.just([[1], [2], [3]]),
)


def _parquet(columns: list[list[Any]], names: list[str]) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns[: len(names)], names=names[: len(columns)]), sink)
    return bytes(sink.getvalue())


_parquets = st.builds(
    _parquet,
    st.lists(_column, min_size=3, max_size=3),
    st.sampled_from([["t", "u", "v"], ["u", "v"], ["u", "v", "time"], ["id"], ["a", "b", "c"]]),
)


@st.composite
def broken(draw: st.DrawFn, content: st.SearchStrategy[bytes]) -> bytes:
    """Bytes as they are, or cut off, or with some changed, put in or taken out."""
    data = bytearray(draw(content))
    for _ in range(draw(st.integers(0, 3))):
        place = draw(st.integers(0, len(data)))
        kind = draw(st.sampled_from(["change", "cut", "insert", "remove"]))
        if kind == "cut":
            del data[place:]
        elif kind == "insert":
            data[place:place] = draw(st.binary(max_size=8))
        elif kind == "remove":
            del data[place : place + draw(st.integers(1, 40))]
        elif place < len(data):
            data[place] = draw(st.integers(0, 255))
    return bytes(data)


files = st.one_of(
    _table,
    broken(_table),
    broken(_table.map(lambda content: gzip.compress(content, 1))),
    broken(_parquets),
    st.binary(max_size=200),
)


# ---- what is done with it ----


class Playground:
    """A directory with a published stream, to break copies of.

    Parameters
    ----------
    base
        An empty directory, best in memory.
    """

    def __init__(self, base: Path) -> None:
        self.base = base
        publish(base / "good", 3)
        self._ledger = ledger_of(base / "good").read_bytes()
        self._certificate = (base / "good" / "000001.json").read_bytes()
        with Ledger(ledger_of(base / "good"), writing=False) as ledger:
            records = (
                ledger.latest_state(PSGraph.records),
                ledger.measurement_of(1, PSGraph.records),
            )
            self._records = [encode(record)[0] for record in records]
            self._rosters = ledger.roster(ledger.seal_of(0).roster)
        (base / "edges.csv").write_text(f"t,u,v\n0,{PLANTED},a\n1,{PLANTED},b\n1,a,b\n")
        (base / "numbers.csv").write_text(f"t,u,v\n0,{PLANTED_NUMBER},1\n1,1,2\n")
        (base / "events.csv").write_text(f"u,v,time\n{PLANTED},a,2004-01-05\na,b,2004-02-05\n")
        (base / "nodes.csv").write_text(f"id\n{PLANTED}\na\nb\n")
        (base / "few.csv").write_text("id\na\nb\n")
        (base / "broken.csv").write_text(f"t,u,v\n0,{PLANTED}\n1,2,3,4\n")
        (base / "days").mkdir()
        (base / "days" / "1.txt").write_text(f"{PLANTED} a\n")
        (base / "days" / "2.txt").write_text("a b\n")
        self._runs = 0
        warm_up()  # in a fresh checkout compiling takes longer than any input may

    def put(self, content: bytes, name: str) -> Path:
        path = self.base / name
        path.write_bytes(content)
        return path

    # Each takes what its strategy makes, and fails if something untyped comes of it.

    def stream(self, given_: tuple[bytes, str, str, str | None, bool]) -> None:
        content, name, roster, every, cumulative = given_
        path = self.put(content, name)
        options: dict[str, Any] = {"every": every, "cumulative": cumulative and every is not None}
        if roster == "edges":
            options["roster_from_edges"] = True
        elif roster == "names":
            options["roster"] = ["a", "b", PLANTED]
        else:
            options["roster"] = [1, 2, 3, PLANTED_NUMBER]
        with nothing_told():
            for number, _ in enumerate(read_stream(path, **options)):
                if number > 50:
                    break

    def roster(self, given_: tuple[bytes, str, str | None]) -> None:
        content, name, moment = given_
        path = self.put(content, name)
        for options in ({"column": "x"}, {"header": False}):
            with nothing_told():
                read_roster(path, **options)
        with nothing_told():
            roster = read_roster(path)
            if isinstance(roster, TimedRoster):
                roster.at(moment)

    def ledger_file(self, changes: list[tuple[float, int]]) -> None:
        content = bytearray(self._ledger)
        for part, value in changes:
            content[int(part * (len(content) - 1))] = value
        self._use_ledger(bytes(content), [])

    def ledger_rows(self, statements: list[tuple[str, Any]]) -> None:
        self._use_ledger(self._ledger, statements)

    def _use_ledger(self, content: bytes, statements: list[tuple[str, Any]]) -> None:
        self._runs += 1
        out = self.base / "broken"
        path = ledger_of(out)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        connection = sqlite3.connect(path, isolation_level=None)
        for statement, value in statements:
            with contextlib.suppress(sqlite3.Error, OverflowError, UnicodeEncodeError):
                connection.execute(statement, (value,))
        connection.close()
        try:
            with nothing_told():
                verify(path)
            with nothing_told(), Ledger(path, writing=False) as ledger:
                list(ledger.spends())
                ledger.accountant()
            with nothing_told(), Publisher.resume(path) as publisher:
                if self._runs % 10 == 0:  # it takes longer than all the rest
                    publisher.publish(snapshot(3))
        finally:
            for directory in (out, path.parent):
                shutil.rmtree(directory, ignore_errors=True)

    def record(self, given_: tuple[int, list[tuple[float, bytes]]]) -> None:
        which, changes = given_
        content = bytearray(self._records[which])
        for part, piece in changes:
            place = int(part * len(content))
            content[place : place + len(piece)] = piece
        with nothing_told():
            decode(bytes(content), classes=PSGraph.records, rosters=lambda _: self._rosters)

    def record_text(self, value: Any) -> None:
        text = json.dumps(value).encode()
        content = b"PSR1" + len(text).to_bytes(8, "little") + text + bytes(64)
        with nothing_told():
            decode(content, classes=PSGraph.records, rosters=lambda _: self._rosters)

    def certificate(self, changes: list[tuple[float, bytes]]) -> None:
        content = bytearray(self._certificate)
        for part, piece in changes:
            place = int(part * len(content))
            content[place : place + len(piece)] = piece
        with nothing_told():
            Certificate.from_json(bytes(content))

    def certificate_fields(self, changes: dict[str, Any]) -> None:
        content = {**json.loads(self._certificate), **changes}
        with nothing_told():
            Certificate.from_json(json.dumps(content, indent=2))

    def arguments(self, arguments: list[str]) -> None:
        self._runs += 1
        replaced = [
            argument.replace("BASE", str(self.base)).replace("RUN", str(self._runs))
            for argument in arguments
        ]
        output = io.StringIO()
        begin = time.process_time()
        with (
            contextlib.chdir(self.base),  # a word may be taken for the name of a file
            contextlib.redirect_stdout(output),
            contextlib.redirect_stderr(output),
        ):
            code = cli.run(replaced)
        said = output.getvalue()
        assert code in (0, 1, 2, 3), (arguments, code, said)
        assert "internal error" not in said, (arguments, said)
        assert "Traceback" not in said, (arguments, said)
        refuse_planted(said)
        out = self.base / f"out {self._runs}"
        for path in out.glob("*.json") if out.is_dir() else []:
            refuse_planted(path.read_text())
        assert time.process_time() - begin < LONGEST

    def publisher(self, given_: tuple[Any, Any, Any, Any]) -> None:
        epsilon, window, seed_, places = given_
        from psgraph.privacy.guarantee import WEventPrivacy

        with nothing_told():
            guarantee = WEventPrivacy(epsilon, window)
            with Publisher(PSGraph(), guarantee, seed=seed_) as publisher:
                for place in places:
                    publisher.publish(snapshot(0), timestamp=place)


_value = st.one_of(
    st.none(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=20),
    st.binary(max_size=40),
    st.sampled_from(["1e999999999", "1/0", "[" * 5000, "{}", "null", "0.3333333333", "-1"]),
)
_columns = [
    ("facts", "value", "name = 'terms'"),
    ("facts", "value", "name = 'key'"),
    ("facts", "name", "name = 'mark'"),
    ("rosters", "digest", "1"),
    ("rosters", "content", "1"),
    ("state", "content", "1"),
    *[
        ("seals", name, condition)
        for condition in ("timestamp = 2", "timestamp = 0", "1")
        for name in (
            "timestamp",
            "time",
            "spent",
            "charges",
            "seed",
            "snapshot",
            "roster",
            "measurement",
            "state",
            "version",
            "previous",
            "digest",
            "certificate",
            "certificate_mark",
        )
    ],
]
_statement = st.one_of(
    st.builds(
        lambda place, value: (f"UPDATE {place[0]} SET {place[1]} = ? WHERE {place[2]}", value),
        st.sampled_from(_columns),
        _value,
    ),
    st.builds(
        lambda table, row: (f"DELETE FROM {table} WHERE rowid = ?", row),
        st.sampled_from(["seals", "state"]),
        st.integers(0, 3),
    ),
    st.builds(
        lambda name, value: (f"PRAGMA {name} = {value}", None),
        st.sampled_from(["user_version", "application_id"]),
        st.integers(-5, 5),
    ).map(lambda pair: (pair[0] + " -- ?", pair[1])),
)
_pieces = st.lists(
    st.tuples(
        st.floats(0, 1),
        st.one_of(
            st.binary(min_size=1, max_size=12),
            st.sampled_from([b'"', b"{", b"[" * 2000, b"1e999999999", b"NaN", b"null", b"-1"]),
        ),
    ),
    min_size=1,
    max_size=3,
)
_json = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=5)
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(
                ["record", "fields", "array", "type", "as", "shape", "tuple", "fraction", "roster"]
            ),
            inner,
            max_size=3,
        ),
        st.builds(lambda text: {"fraction": text}, st.sampled_from(["1e999999999", "1/0", "x"])),
        st.builds(
            lambda kind, shape: {"array": {"type": kind, "as": kind, "shape": shape}},
            st.sampled_from(["<i8", "|i1", "<f8", "|O", "<U9"]),
            st.one_of(inner, st.lists(st.integers(-2, 2**40), max_size=3)),
        ),
    ),
    max_leaves=8,
)
_OPTIONS = """--epsilon --window --roster --roster-from-edges --out --ledger --seed --every
--cumulative --method --nodes --json --once --noise --set --to --format --roster-column
--roster-no-header --yes-large-epsilon -- -x"""
_PATHS = """edges.csv numbers.csv events.csv nodes.csv few.csv broken.csv days days/*.txt good
good.ledger good.ledger/ledger.sqlite missing"""
_COMMANDS = [
    "publish",
    "plan",
    "compare",
    "resume",
    "budget",
    "verify",
    "export",
    "watch",
    "methods",
]
_word = st.one_of(
    st.sampled_from([*_COMMANDS, "--help"]),
    st.sampled_from([f"BASE/{name}" for name in (*_PATHS.split(), "out RUN", "no text \udcff")]),
    st.sampled_from(_OPTIONS.split()),
    st.sampled_from(["1", "0", "-1", "1/3", "nan", "1e-300", "1e300", "5", "1mo", "0d", "tmf"]),
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=6),
)
_roster = st.sampled_from(
    [["--roster", "BASE/nodes.csv"], ["--roster", "BASE/few.csv"], ["--roster-from-edges"], []]
)
_promise = ["--epsilon", "1", "--window", "2"]
_input = st.sampled_from([f"BASE/{name}" for name in _PATHS.split()])
_more: st.SearchStrategy[list[str]] = st.one_of(st.just([]), st.lists(_word, max_size=2))
_sensible = st.one_of(
    st.builds(
        lambda path, roster, more: [
            *("publish", path, *roster, *_promise, "--out", "BASE/out RUN", *more)
        ],
        _input,
        _roster,
        _more,
    ),
    st.builds(
        lambda path, roster, more: [
            *("watch", path, *roster, *_promise, "--out", "BASE/out RUN", "--once"),
            *("--settle", "0", *more),
        ],
        _input,
        _roster,
        _more,
    ),
    st.builds(
        lambda name, one, other, roster, more: [name, one, other, *roster, *more],
        st.sampled_from(["resume", "compare"]),
        _input,
        _input,
        _roster,
        _more,
    ),
    st.builds(
        lambda name, path, more: [name, path, *more],
        st.sampled_from(["budget", "verify"]),
        _input,
        _more,
    ),
)
command_lines = st.one_of(
    st.lists(_word, max_size=10),
    st.builds(lambda name, words: [name, *words], st.sampled_from(_COMMANDS), st.lists(_word)),
    _sensible,
    _sensible,
).filter(lambda words: "watch" not in words or "--once" in words)

_names = st.sampled_from(["x.csv", "x.txt", "x.tsv", "x.csv.gz", "x.parquet", "x"])

KINDS: dict[str, tuple[st.SearchStrategy[Any], int]] = {
    "stream": (
        st.tuples(
            files,
            _names,
            st.sampled_from(["edges", "names", "numbers"]),
            st.sampled_from([None, None, "1d", "1mo", "1y"]),
            st.booleans(),
        ),
        25,
    ),
    "roster": (st.tuples(files, _names, st.one_of(st.none(), _cell)), 20),
    "ledger_file": (
        st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), min_size=1, max_size=4),
        8,
    ),
    "ledger_rows": (st.lists(_statement, min_size=1, max_size=2), 10),
    "record": (st.tuples(st.integers(0, 1), _pieces), 10),
    "record_text": (_json, 8),
    "certificate": (_pieces, 8),
    "certificate_fields": (
        st.dictionaries(
            st.sampled_from(
                ["timestamp", "time", "epsilon", "window", "spent", "caveat", "previous", "nodes"]
            ),
            _json,
            min_size=1,
            max_size=2,
        ),
        5,
    ),
    "publisher": (
        st.tuples(
            st.one_of(st.sampled_from(["1", "1/3", 2, 0.5, "nan", "-1"]), _value),
            st.one_of(st.integers(-1, 4), _value),
            st.one_of(st.none(), st.integers(-1, 2**80), st.floats(), st.booleans()),
            st.lists(st.one_of(st.integers(-1, 2), _value), max_size=2),
        ),
        2,
    ),
    "arguments": (command_lines, 4),
}
"""Every kind of input: how it is made, and its share in hundredths."""


def check(playground: Playground, kind: str, examples: int, *, start: int = 0) -> int:
    """Try so many inputs of one kind, in batches; the first that goes wrong is shown shrunk."""
    strategy, _ = KINDS[kind]
    act: Callable[[Any], None] = getattr(playground, kind)
    done = 0
    while done < examples:
        batch = min(1000, examples - done)
        passed = 0

        @seed(start + done)
        @settings(
            max_examples=batch,
            database=None,
            deadline=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        )
        @given(strategy)
        def attempt(value: Any) -> None:
            nonlocal passed
            act(value)
            passed += 1

        attempt()
        done += max(passed, 1)
    return done
