"""The format of a ledger is what docs/reference/ledger.md says, read without psgraph's code."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from psgraph.publication.ledger.database import TABLES
from psgraph.publication.locations import ledger_of
from tests.crash.scenario import ROSTER, publish, snapshot

DOCUMENT = Path(__file__).parents[2] / "docs/reference/ledger.md"


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("published") / "out"
    publish(out, 4)
    return out


@pytest.fixture(scope="module")
def ledger(out: Path) -> dict[str, list[dict[str, Any]]]:
    connection = sqlite3.connect(ledger_of(out))
    connection.row_factory = sqlite3.Row
    return {
        table: [dict(row) for row in connection.execute(f"SELECT * FROM {table}")]
        for table in TABLES
    }


def sha256(*parts: bytes) -> bytes:
    return hashlib.sha256(b"".join(parts)).digest()


def mac(key: bytes, *parts: bytes) -> bytes:
    return hmac.digest(key, b"".join(parts), "sha256")


def test_the_tables_are_those_of_the_document() -> None:
    (block,) = re.findall(r"```sql\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    described = [" ".join(text.split()) for text in re.split(r"\n(?=CREATE)", block.strip())]
    assert described == list(TABLES.values())


def test_facts_rosters_and_the_chain(out: Path, ledger: dict[str, list[dict[str, Any]]]) -> None:
    facts = {row["name"]: row["value"] for row in ledger["facts"]}
    key, terms = facts["key"], facts["terms"]
    assert facts["mark"] == mac(key, b"terms ", terms)
    fields = json.loads(terms)
    assert json.dumps(fields, sort_keys=True, separators=(",", ":")).encode() == terms
    assert fields["out"] == "beside/"
    assert (fields["epsilon"], fields["window"], fields["seed"]) == ("1", 3, None)
    assert (fields["distribution_version"], fields["noise"]) == (1, "exact")

    (roster,) = ledger["rosters"]
    ids = sorted(ROSTER.ids.tolist())
    assert roster["content"] == b"gs" + json.dumps(ids, ensure_ascii=False).encode()
    joined = "\0".join(ids).encode()
    assert roster["digest"] == sha256(b"given\0", b"s", joined).hex()

    before = previous = sha256(b"psgraph ledger\0", sha256(b"psgraph key\0", key), terms)
    for timestamp, row in enumerate(ledger["seals"]):
        assert (row["timestamp"], row["previous"], row["spent"]) == (timestamp, previous, "1/3")
        columns = list(row.values())[: list(row).index("digest")]
        chain = hashlib.sha256(before)
        for value in columns:
            data = value if isinstance(value, bytes) else repr(value).encode()
            chain.update(f"{type(value).__name__} {len(data)} ".encode() + data)
        assert row["digest"] == chain.digest()
        original = snapshot(timestamp)
        time = str(row["time"]).encode()
        head = b"%s\0%d\0%s\0" % (row["roster"].encode(), len(time), time)
        ends = [np.asarray(end, dtype="<i4").tobytes() for end in (original.u, original.v)]
        assert row["snapshot"] == mac(key, head, *ends)
        certificate = json.loads((out / f"{timestamp:06d}.json").read_text())
        digest = certificate.pop("digest")
        text = json.dumps(certificate, sort_keys=True, separators=(",", ":"))
        assert digest == sha256(text.encode()).hex() == row["certificate"].hex()
        graph = (out / f"{timestamp:06d}.parquet").read_bytes()
        assert certificate["graph_sha256"] == sha256(graph).hex()
        nodes = (out / "nodes" / f"{certificate['nodes_sha256']}.parquet").read_bytes()
        assert certificate["nodes_sha256"] == sha256(nodes).hex()
        mark = mac(key, b"certificate %d " % timestamp, row["certificate"])
        assert row["certificate_mark"] == mark
        before, previous = row["digest"], row["certificate"]
    assert sha256(ledger["state"][0]["content"]) == ledger["seals"][-1]["state"]


def test_records(ledger: dict[str, list[dict[str, Any]]]) -> None:
    for content in (ledger["state"][0]["content"], ledger["seals"][2]["measurement"]):
        assert content[:4] == b"PSR1"
        end = 12 + int.from_bytes(content[4:12], "little")
        record = json.loads(content[12:end])
        assert record["fields"]["roster"] == {"roster": ledger["rosters"][0]["digest"]}
        text = json.dumps(record, separators=(",", ":"))
        arrays = re.findall(r'"type":"([^"]+)","as":"([^"]+)","shape":(\[[\d,]*\])', text)
        sizes = [
            np.dtype(kind).itemsize * int(np.prod(json.loads(shape))) for _, kind, shape in arrays
        ]
        assert end + sum(sizes) == len(content)
        fields = record["fields"]
        labels = np.frombuffer(content[end : end + sizes[0]], dtype=arrays[0][1])
        assert list(fields).index("labels") < list(fields).index("degree_epsilon")
        assert labels.size == len(ROSTER)
        assert labels.min() == 0
