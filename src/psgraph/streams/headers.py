"""Which column of a roster file holds the ids, and whether its first line is a node.

A header that is taken for a node becomes part of a publication for good, and a node that is taken
for a header is missing from it. So only documented names are recognised; where a first line could
be either, the user is asked.
"""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

from psgraph.errors import RosterError
from psgraph.graph.formats.columns import HEADER_WORDS
from psgraph.graph.formats.files import TableFile
from psgraph.graph.formats.text import TextFile

__all__ = ["BOUNDS", "id_columns", "refuse_header"]

BOUNDS = ("from", "until")

_ID_NAMES = ("id", "node")

# Words that head columns of ids more often than they are ids.
_WORDS = """account accounts address asn author client code contact customer customers device
domain e-mail email employee employees entity firstname handle host hostname ids imei imsi ip key
lastname login mail member members mobile msisdn name names nickname nodeid nodes number patient
people person persons phone phones router staff student subscriber surname tel telephone uid url
user userid username users vertex vertices"""
_TITLES = HEADER_WORDS.union(_WORDS.split())
_TITLE_ENDING = re.compile(r"[ _.-](ids?|names?|number|key|code)$|[a-z](Id|ID|Name)$")


def id_columns(table: TableFile, column: str | None, header: bool | None) -> dict[str, int]:
    """Return the indices of the ids, and of `from` and `until` if they are there."""
    if table.empty and table.names is None:
        raise RosterError(f"roster: {table.name} is empty: it lists no node\nGive at least one.")
    if isinstance(table, TextFile):
        if column is not None:
            table.take_first_line_as_names()
        elif header is False or (table.width == 1 and not _documented(table)):
            table.take_first_line_as_row()
    if table.names is None:
        if table.width > 1:
            raise RosterError(
                f"roster: {table.name} has {table.width} columns, and no line that names them in "
                "words known here\nName the column of ids (--roster-column NAME, "
                "roster_column=…), or begin the file with a line such as: id,from,until"
            )
        return {"id": 0}
    names = [name.lower() for name in table.names]
    bounds = {name: names.index(name) for name in BOUNDS if name in names}
    if column is not None:
        return {"id": _index_of(column, table), **bounds}
    others = [index for index in range(len(names)) if index not in bounds.values()]
    marked = [index for index in others if names[index] in _ID_NAMES]
    if len(marked) != 1 and len(others) != 1:
        raise RosterError(
            f"roster: expected one column 'id' or 'node', found {table.listing}\n"
            "Name the column of ids: --roster-column NAME, roster_column=…."
        )
    return {"id": (marked if len(marked) == 1 else others)[0], **bounds}


def _documented(table: TableFile) -> bool:
    """Whether the only column of a text file has one of the documented names."""
    return table.names is not None and table.names[0].lower() in _ID_NAMES


def _index_of(column: str, table: TableFile) -> int:
    """Return the index of a named column; case matters only where it makes a difference."""
    names = table.names or []
    for wanted, found in ((column, names), (column.lower(), [name.lower() for name in names])):
        if found.count(wanted) == 1:
            return found.index(wanted)
        if wanted in found:
            raise RosterError(
                f"roster: {table.name} has several columns {column!r}\nGive them different names."
            )
    raise RosterError(
        f"roster: {table.name} has no column {column!r}, but {table.listing}\n"
        "Give a name that is in its first line."
    )


def refuse_header(ids: pa.ChunkedArray, name: str) -> None:
    """Refuse a single column whose first line may be a header: a known word, or one above numbers.

    Parameters
    ----------
    ids
        The lines, as text.
    """
    first = ids[0].as_py()
    known = first.lower() in _TITLES
    if known or _TITLE_ENDING.search(first) or _differs(first, ids[1:]):
        column = first if known else "NAME"  # an id is never quoted
        raise RosterError(
            f"roster: the first line of {name} looks like the name of a column, not like a node\n"
            f"If it is a name, say --roster-column {column} (roster_column=…). If it is a node, "
            "say --roster-no-header (roster_header=False)."
        )


def _differs(first: str, others: pa.ChunkedArray) -> bool:
    """Whether a first line is letters and all others have a digit or an @: numbers, mail, codes."""
    if not len(others) or not re.search(r"[^\W\d_]", first) or re.search(r"[\d@]", first):
        return False
    return bool(pc.all(pc.match_substring_regex(others, "[0-9@]")).as_py())
