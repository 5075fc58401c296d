"""Uploads: bounded in bytes, rows and time, whatever they expand to."""

from __future__ import annotations

import asyncio
import gzip
import io
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from starlette.requests import ClientDisconnect

from psgraph.service.problems import Refusal
from psgraph.service.settings import Limits
from psgraph.service.uploads import UploadSpace, receive

CSV, PARQUET = "text/csv", "application/vnd.apache.parquet"
LIMITS = Limits(
    upload_bytes=100_000, upload_rows=1_000, upload_seconds=0.2, upload_memory=1_000_000
)


def as_parquet(table: pa.Table, **options) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


def zstd(content: bytes) -> bytes:
    return bytes(pa.compress(content, "zstd", asbytes=True))


def received(
    directory, content: bytes, kind: str = CSV, *, pause: float = 0.0, limits: Limits = LIMITS
) -> bytes:
    """What arrives of an upload; nothing may stay behind."""

    async def chunks():
        for start in range(0, len(content), 10_000):
            yield content[start : start + 10_000]
            await asyncio.sleep(pause)

    async def run() -> bytes:
        async with receive(chunks(), kind, directory, limits) as upload:
            return upload.path.read_bytes()

    try:
        return asyncio.run(run())
    finally:
        assert not list(directory.iterdir())


def refused(directory, content: bytes, kind: str = CSV, **options) -> tuple[int, str]:
    with pytest.raises(Refusal) as error:
        received(directory, content, kind, **options)
    return error.value.status, error.value.error


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd], ids=["plain", "gzip", "zstd"])
def test_text_arrives_plain(tmp_path, pack):
    content = b"u,v\n" + b"1,2\n" * 900
    assert received(tmp_path, pack(content)) == content


def test_gzip_of_several_parts_arrives_whole(tmp_path):
    content = gzip.compress(b"u,v\n") + gzip.compress(b"1,2\n")
    assert received(tmp_path, content) == b"u,v\n1,2\n"


def test_parquet_arrives_as_it_is(tmp_path):
    content = as_parquet(pa.table({"u": ["a", "b"], "v": ["b", "c"]}))
    assert received(tmp_path, content, PARQUET) == content


@pytest.mark.parametrize(
    ("content", "kind", "expected"),
    [
        (b"", CSV, (422, "no_content")),
        (b"u,v\n" + b"9" * 100_000, CSV, (413, "too_large")),
        (b"u,v\n" + b"1,2\n" * 1_100, CSV, (413, "too_many_rows")),
        (gzip.compress(b"0" * 10_000_000), CSV, (413, "too_large")),
        (zstd(b"0" * 10_000_000), CSV, (413, "too_large")),
        (gzip.compress(b"u,v\n1,2\n")[:-3], CSV, (422, "unreadable")),
        (b"\x28\xb5\x2f\xfd damaged", CSV, (422, "unreadable")),
        (b"PAR1 as text", CSV, (422, "unreadable")),
        (b"u,v\n1,2\n", PARQUET, (422, "unreadable")),
        (b"PAR1" + b"\0" * 100 + b"PAR1", PARQUET, (422, "unreadable")),
        (b"u,v\n1,2\n", "application/json", (415, "media_type")),
        (b"u,v\n1,2\n", None, (415, "media_type")),
    ],
    ids=[
        "empty",
        "long line",
        "many rows",
        "gzip bomb",
        "zstd bomb",
        "cut gzip",
        "damaged zstd",
        "parquet as text",
        "text as parquet",
        "damaged parquet",
        "json",
        "no media type",
    ],
)
def test_what_is_wrong_is_refused_and_deleted(tmp_path, content, kind, expected):
    assert refused(tmp_path, content, kind) == expected


def test_parquet_that_expands_is_refused_before_it_is_read(tmp_path):
    zeros = pa.array([0] * 1_000_000, pa.int64())
    many = as_parquet(pa.table({"u": zeros, "v": zeros}), compression="zstd")
    assert len(many) < 100_000
    assert refused(tmp_path, many, PARQUET) == (413, "too_many_rows")


def test_a_dictionary_of_few_long_values_is_refused(tmp_path):
    long = pa.array(["x" * 20_000] * 1_000)
    packed = as_parquet(pa.table({"u": long, "v": long}), compression="zstd")
    assert len(packed) < 100_000
    assert refused(tmp_path, packed, PARQUET) == (413, "too_much_memory")


def test_rows_that_few_bytes_encode_are_weighed_as_they_are_decoded(tmp_path):
    numbers = pa.array(range(500_000), pa.int64())
    packed = as_parquet(
        pa.table({"u": numbers, "v": numbers}),
        use_dictionary=False,
        column_encoding="DELTA_BINARY_PACKED",
        compression="zstd",
    )
    limits = replace(LIMITS, upload_rows=1_000_000)
    assert len(packed) < 100_000
    assert refused(tmp_path, packed, PARQUET, limits=limits) == (413, "too_much_memory")


def test_text_whose_decoded_size_is_unknown_is_refused(tmp_path):
    long = pa.array(["x" * 60_000 + str(number) for number in range(1_000)])
    packed = as_parquet(
        pa.table({"u": long, "v": long}),
        use_dictionary=False,
        column_encoding="DELTA_BYTE_ARRAY",
    )
    assert len(packed) < 1_000_000
    limits = replace(LIMITS, upload_bytes=1_000_000)
    assert refused(tmp_path, packed, PARQUET, limits=limits) == (422, "encoding")


@pytest.mark.parametrize(
    "content", [b"u,v\n" + b"1,2\n" * 900, b"u,v\n" + b"ann,bob\n" * 900], ids=["ints", "text"]
)
def test_text_files_are_weighed_too(tmp_path, content):
    assert received(tmp_path, content) == content
    limits = replace(LIMITS, upload_memory=80_000)
    assert refused(tmp_path, content, limits=limits) == (413, "too_much_memory")


def test_a_caller_takes_half_of_the_places_and_a_large_upload_waits_for_memory(monkeypatch):
    monkeypatch.setattr("psgraph.service.uploads._LONGEST_WAIT", 0.05)

    async def run() -> None:
        space = UploadSpace(replace(LIMITS, concurrent_uploads=4))
        async with space.place("ann"), space.place("ann"):
            with pytest.raises(Refusal, match="as many uploads"):
                await space.place("ann").__aenter__()
            async with space.place("bob"), space.memory(600_000):
                with pytest.raises(Refusal, match="as many uploads"):
                    await space.memory(600_000).__aenter__()
        async with space.place("ann"), space.memory(1_000_000):
            pass

    asyncio.run(run())


def test_a_slow_upload_is_ended(tmp_path):
    assert refused(tmp_path, b"u,v\n" + b"1,2\n" * 9_000, pause=0.1) == (408, "too_slow")


def test_a_client_that_hangs_up_leaves_nothing(tmp_path):
    async def chunks():
        yield b"u,v\n"
        raise ClientDisconnect

    async def run():
        async with receive(chunks(), CSV, tmp_path, LIMITS):
            pass

    with pytest.raises(Refusal) as caught:
        asyncio.run(run())
    assert (caught.value.status, caught.value.error) == (400, "bad_request")
    assert not list(tmp_path.iterdir())
