"""Where the times of a stream come from: a public fact, stated in every certificate.

The set of timestamps is public, so a certificate says what it depends on: a declaration, file
names, or the edges. A ledger keeps the value, and refuses to continue with a stream whose times
come from a different source: a window is counted in timestamps, so days in a stream of months
would make it 30 times shorter.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from psgraph.errors import InvalidArgument
from psgraph.streams.periods import Period
from psgraph.streams.sequences import regular_step

__all__ = ["TimeSource", "as_time_source", "read_sentence"]

Kind = Literal["values", "integers", "range", "listed", "periods", "files", "items", "stated"]

_SENTENCES: dict[str, str] = {
    "values": "the values of t that occur, read off the edges",
    "integers": "integers from the first to the last row, both ends read off the edges",
    "listed": "listed by the publisher",
    "items": "one per item, in order",
    "files": "one per file, by file name",
}
_ENDS = {
    (True, True): "the first and the last declared by the publisher",
    (True, False): "the first declared by the publisher, the last read off the edges",
    (False, True): "the first read off the edges, the last declared by the publisher",
    (False, False): "from the first to the last event, both ends read off the edges",
}


@dataclass(frozen=True)
class TimeSource:
    """Where times come from. Equal sources have the same meaning, whoever chose the ends.

    Attributes
    ----------
    kind
        "values" of t that occur, "integers" between the first and the last row, a declared
        "range" of integers, times "listed" by the publisher, "periods" of events, names of
        "files", "items" of a list, or "stated" by the publisher in words.
    period
        The period of events or files; None if there is none or it is not known.
    first
        The first integer of a declared range.
    column
        The column that names the times, declared public.
    cumulative
        Whether each snapshot keeps the edges of all earlier periods.
    words
        The statement of a publisher, for "stated".
    start_declared, until_declared, uploaded
        Which ends of the periods were declared; whether names were declared with each upload
        instead of taken from files. This may change while a stream grows, and is not compared.

    Examples
    --------
    >>> source = TimeSource("periods", period=Period.parse("1mo"), until_declared=True)
    >>> print(source)
    periods of 1mo, the first read off the edges, the last declared by the publisher
    >>> source == TimeSource("periods", period=Period.parse("1mo"))
    True
    """

    kind: Kind
    period: Period | None = None
    first: int | None = None
    column: str | None = None
    cumulative: bool = False
    words: str = ""
    start_declared: bool = field(default=False, compare=False)
    until_declared: bool = field(default=False, compare=False)
    uploaded: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        """Return the sentence in certificates. Its wording stays: they are chained by digests."""
        text = self._sentence()
        if self.column is not None:
            text += f"; named by the column {self.column!r}, declared public by the publisher"
        if self.cumulative:
            text += "; each snapshot keeps the edges of all earlier periods"
        return text

    def _sentence(self) -> str:
        if self.kind == "stated":
            return self.words
        if self.kind == "range":
            return f"consecutive integers from {self.first}, declared by the publisher"
        if self.uploaded:
            return "one per file, by the name declared with each snapshot"
        if self.period is None:
            return _SENTENCES[self.kind]
        zone = "" if self.period.zone is None else f" in {self.period.zone.name}"
        if self.kind == "files":
            return f"{_SENTENCES['files']}, every {self.period}{zone}"
        return f"periods of {self.period}{zone}, {_ENDS[self.start_declared, self.until_declared]}"

    def continues(self, before: TimeSource) -> bool:
        """Whether a stream can continue with this source.

        The source must be equal; the period of files may become known.

        >>> daily = TimeSource("files", period=Period.parse("1d"))
        >>> daily.continues(TimeSource("files")), daily.continues(TimeSource("items"))
        (True, False)
        """
        if self.kind == before.kind == "files" and None in (self.period, before.period):
            return True
        return self == before

    def window(self, timestamps: int, names: Iterable[str | None] = ()) -> str | None:
        """Return how long a window is: by the period, or by dates in file names without a gap.

        >>> TimeSource("periods", period=Period.parse("1mo")).window(6)
        '6 months'
        """
        period = self.period
        if period is None and self.kind == "files":
            period = regular_step([name or "" for name in names])
        return None if period is None else period.words(timestamps)

    # ---- the form in ledgers and stores ----

    def dumps(self) -> str:
        """Write the value as JSON; what is not given is left out.

        >>> TimeSource("periods", period=Period.parse("1d", "Europe/Berlin")).dumps()
        '{"kind": "periods", "period": "1d", "zone": "Europe/Berlin"}'
        """
        content: dict[str, Any] = {
            each.name: getattr(self, each.name)
            for each in fields(self)
            if getattr(self, each.name) != each.default
        }
        if self.period is not None:
            content["period"] = str(self.period)
            if self.period.zone is not None:
                content["zone"] = self.period.zone.name
        return json.dumps(content, ensure_ascii=False)

    @classmethod
    def loads(cls, text: str) -> TimeSource:
        """Read what `dumps` wrote, or the sentence that version 0.2.0 wrote instead.

        >>> TimeSource.loads('{"kind": "range", "first": 0}').first
        0
        """
        try:
            content = json.loads(text)
        except ValueError:
            content = read_sentence(text)
        try:
            zone = content.pop("zone", None)
            if "period" in content:
                content["period"] = Period.parse(content["period"], zone)
            read = cls(**content)
            if text in (read.dumps(), str(read)):
                return read
        except (AttributeError, InvalidArgument, KeyError, TypeError, ValueError):
            pass
        return cls("stated", words=text)


def as_time_source(times: TimeSource | str | None) -> TimeSource | None:
    """Return a source as it is; words of a publisher become one of kind "stated".

    >>> as_time_source("one per day, declared").kind, as_time_source("listed by the publisher").kind
    ('stated', 'listed')
    """
    return TimeSource.loads(times) if isinstance(times, str) else times


# ---- sentences of version 0.2.0 ----


_PERIOD = r"(?P<length>\d+(?:s|min|h|d|w|mo|y))(?: in (?P<zone>[\w+/-]+))?"
_FORMS = {
    "values": r"the values of t that occur, .*",
    "integers": r"integers from the first to the last row, .*",
    "range": r"consecutive integers from (?P<first>-?\d+), .*",
    "listed": r"listed by the publisher",
    "items": r"one per item, in order",
    "files": rf"one per file, by (?:file name|(?P<uploaded>the name .*))(?:, every {_PERIOD})?",
    "periods": rf"periods of {_PERIOD}, (?P<ends>.*)",
}
_COLUMN = re.compile(r"; named by the column '(.*)', declared public by the publisher")
_CUMULATIVE = "; each snapshot keeps the edges of all earlier periods"


def read_sentence(text: str) -> dict[str, Any]:
    """Return the fields of a `TimeSource` that a sentence of version 0.2.0 stands for.

    Other text is the publisher's own: kind "stated". The caller compares what the fields are
    rendered to with the sentence.

    >>> read_sentence("one per file, by file name, every 1d")
    {'kind': 'files', 'period': '1d', 'zone': None}
    """
    facts: dict[str, Any] = {}
    plain = text.replace(_CUMULATIVE, "")
    if plain != text:
        facts["cumulative"] = True
    if named := _COLUMN.search(plain):
        facts["column"] = named[1]
        plain = plain.replace(named[0], "")
    for kind, form in _FORMS.items():
        found = re.fullmatch(form, plain)
        if found is None:
            continue
        groups = found.groupdict()
        if groups.get("length"):
            facts |= {"period": groups["length"], "zone": groups["zone"]}
        if groups.get("uploaded"):
            facts["uploaded"] = True
        if "first" in groups:
            facts["first"] = int(groups["first"])
        if "ends" in groups:
            ends = groups["ends"]
            facts["start_declared"] = ends.startswith(("the first and the last", "the first decl"))
            facts["until_declared"] = ends.endswith("the last declared by the publisher")
        return {"kind": kind, **facts}
    return {"kind": "stated", "words": text}
