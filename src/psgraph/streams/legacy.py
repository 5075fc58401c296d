"""What version 0.2.0 left behind: sentences about times in its ledgers and stores.

Since 0.3.0 the value is kept, see `psgraph.streams.time_source`.
"""

from __future__ import annotations

import re
from typing import Any

__all__ = ["read_sentence"]

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
