"""Where times come from: a value, its sentence in certificates, and what 0.2.0 wrote."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from psgraph.streams.periods import Period
from psgraph.streams.time_source import TimeSource, as_time_source

DAY, MONTH = Period.parse("1d"), Period.parse("1mo")
BERLIN = Period.parse("1d", "Europe/Berlin")

#: Every sentence that version 0.2.0 wrote, and the value it stands for.
SENTENCES = {
    "the values of t that occur, read off the edges": TimeSource("values"),
    "integers from the first to the last row, both ends read off the edges": TimeSource("integers"),
    "consecutive integers from -3, declared by the publisher": TimeSource("range", first=-3),
    "listed by the publisher": TimeSource("listed"),
    "listed by the publisher; named by the column 'a; b', declared public by the publisher": (
        TimeSource("listed", column="a; b")
    ),
    "one per item, in order": TimeSource("items"),
    "one per file, by file name": TimeSource("files"),
    "one per file, by file name, every 1d": TimeSource("files", period=DAY),
    "one per file, by file name, every 1d in Europe/Berlin": TimeSource("files", period=BERLIN),
    "one per file, by the name declared with each snapshot": TimeSource("files", uploaded=True),
    "periods of 1mo, the first and the last declared by the publisher": (
        TimeSource("periods", period=MONTH, start_declared=True, until_declared=True)
    ),
    "periods of 1mo, the first declared by the publisher, the last read off the edges": (
        TimeSource("periods", period=MONTH, start_declared=True)
    ),
    "periods of 1mo, the first read off the edges, the last declared by the publisher": (
        TimeSource("periods", period=MONTH, until_declared=True)
    ),
    "periods of 1d in Europe/Berlin, from the first to the last event, both ends read off the "
    "edges; each snapshot keeps the edges of all earlier periods": (
        TimeSource("periods", period=BERLIN, cumulative=True)
    ),
}


def ends(source: TimeSource) -> tuple[bool, ...]:
    return source.start_declared, source.until_declared, source.uploaded


@pytest.mark.parametrize(("sentence", "source"), SENTENCES.items())
def test_a_source_is_rendered_to_the_sentence_of_0_2_0_and_read_from_it(
    sentence: str, source: TimeSource
) -> None:
    assert str(source) == sentence
    read = TimeSource.loads(sentence)
    assert (read, ends(read)) == (source, ends(source))


@pytest.mark.parametrize("source", SENTENCES.values(), ids=str)
def test_a_source_is_written_and_read_again(source: TimeSource) -> None:
    read = TimeSource.loads(source.dumps())
    assert (read, ends(read)) == (source, ends(source))


def test_a_stream_continues_with_the_same_source_only() -> None:
    families = [
        {source for source in SENTENCES.values() if source.kind == "files"},
        *({replace(source, uploaded=False)} for source in SENTENCES.values()),
    ]
    related = {(a, b) for family in families for a, b in product(family, repeat=2)}
    for one, other in product(SENTENCES.values(), repeat=2):
        apart = None not in (one.period, other.period) and one.period != other.period
        assert one.continues(other) == ((one, other) in related and not apart)


@pytest.mark.parametrize(
    "text",
    [
        "one per day, declared",
        "periods of 1mo, whenever",
        "periods of 1d in Nowhere/Land, the first and the last declared by the publisher",
        '{"kind": "nonsense"}',
        '{"kind": "periods"}',
        '{"kind": "items", "more": 1}',
        "[1]",
        "",
    ],
)
def test_other_words_are_kept_as_they_are(text: str) -> None:
    source = TimeSource.loads(text)
    assert (source.kind, str(source)) == ("stated", text)
    assert TimeSource.loads(source.dumps()) == source


def test_a_source_stays_what_it_is() -> None:
    assert as_time_source(None) is None
    source = TimeSource("items")
    assert as_time_source(source) is source


def test_the_length_of_a_window() -> None:
    assert TimeSource("periods", period=MONTH).window(6) == "6 months"
    assert TimeSource("files").window(2, ["2024-01-01", "2024-01-02"]) == "2 days"
    assert TimeSource("files").window(2, ["2024-01-01", "2024-01-03"]) is None
    assert TimeSource("items").window(2, ["2024-01-01", "2024-01-02"]) is None
