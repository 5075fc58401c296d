"""Plain English: phrases that read as translated, each with what to write instead."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]

INSTEAD = {
    r"(?<![a-z\"'])laws?(?![a-z\"'])(?<!power law)(?<!power-law)(?<!power laws)": "distribution",
    r"\brising\b": "ascending",
    r"\bwhole numbers?\b": "integer",
    r"\bat hand\b": "available",
    r"\bnot to be had\b": "not available",
    r"\banew\b": "again, recomputed",
    r"\bso many\b": "a count: `drawn[i]` cells from region i",
    r"\b(?:goes|go|going|went) on\b": "continue, resume",
    r"\bstrangers?\b": "unknown ids, not on the roster",
    r"\bdearest\b": "most expensive",
    r"\b(?:public|private) (?:are|is) (?:the|which|who|what)\b": "The nodes are public.",
    r"\bholds the truth\b": "contains the original data",
    r"\bdepends? on luck\b": "deterministic",
    r"\bcame to draw\b": "its output distribution changed",
    r"\bmay not show\b": "cannot share",
    r"\bnobody (?:cares|would ever)\b": "no impact; say what happens",
    r"\bis said with\b": "is listed with",
    r"\bmean and most\b": "mean and maximum",
    r"(?<![\d.,])(?<![-−] )\b1 (?:timestamps|edges|nodes|releases|snapshots|runs)\b": "1 timestamp",
}
PHRASES = {re.compile(phrase, re.IGNORECASE): instead for phrase, instead in INSTEAD.items()}


def texts() -> Iterator[Path]:
    """The files that readers see: code, documents, proofs."""
    yield from sorted(ROOT.glob("*.md"))
    for folder in ("src", "docs", "proofs"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".md", ".py", ".toml"):
                yield path


def hits(text: str) -> Iterator[tuple[int, str, str]]:
    """Line number, phrase found and suggestion, for every hit."""
    for number, line in enumerate(text.splitlines(), start=1):
        for phrase, instead in PHRASES.items():
            for found in phrase.finditer(line):
                yield number, found[0], instead


def test_nothing_reads_as_translated():
    found = [
        f"{path.relative_to(ROOT).as_posix()}:{number}: {phrase!r} (instead: {instead})"
        for path in texts()
        for number, phrase, instead in hits(path.read_text())
    ]
    assert not found, f"{len(found)} phrases to rewrite\n" + "\n".join(found)


def test_translated_phrases_are_recognised():
    for line in (
        "the exact law of the noise",
        "positions in rising order",
        "Public are the nodes",
        "files at hand",
        "The dearest window",
        "1 timestamps",
        "Went on with ledger.sqlite",
    ):
        assert list(hits(line)), line


def test_words_of_the_field_are_left_alone():
    for line in (
        "a power-law degree distribution and a power law",
        'old["law"]',
        "arising, comprising, claws and lawn",
        "The nodes are public",
        "11 timestamps, w − 1 timestamps, 2.1 edges",
    ):
        assert not list(hits(line)), line
