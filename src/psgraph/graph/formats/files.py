"""Table files, opened by their content and not by their name.

Both kinds, and data frames in memory, have the same interface: `name` for messages; `names` of the
columns (None for a text file without a line of names) and the `listing` of them for messages;
`width`; `empty`; `typed` (whether the file says which type a column has); ``type_of(index)`` and
``batches(columns)``.
"""

from __future__ import annotations

from pathlib import Path

from psgraph.errors import DataError
from psgraph.graph.formats.columns import BY_NAME, ColumnNames
from psgraph.graph.formats.frames import FrameTable
from psgraph.graph.formats.parquet import ParquetFile
from psgraph.graph.formats.text import COMPRESSED, TextFile

__all__ = ["SUFFIXES", "TableFile", "open_table", "stem", "uncompressed"]

TableFile = ParquetFile | TextFile | FrameTable

SUFFIXES = (".parquet", ".pq", ".csv", ".tsv", ".txt", ".edges", ".edgelist")


def open_table(
    path: Path, *, blanks: bool = True, columns: ColumnNames = BY_NAME, name: str | None = None
) -> TableFile:
    """Open a Parquet or text file, after looking at its first bytes. Any file may be empty.

    Parameters
    ----------
    path
        The file.
    blanks
        Whether blanks separate the columns of a text file without another delimiter.
    columns
        Which columns the user named: a first line that has all of them is a line of names.
    name
        The name for messages, if it is not that of the file.
    """
    try:
        with path.open("rb") as stream:
            magic = stream.read(4)
    except FileNotFoundError:
        raise DataError(f"{path} does not exist\nCheck the path.") from None
    except IsADirectoryError:
        raise DataError(f"{path} is a directory\nGive a file.") from None
    except OSError as error:
        raise DataError(f"{path} can't be opened: {error.strerror or 'I/O error'}") from None
    except ValueError:
        raise DataError("a path can't hold NUL characters\nCheck the path.") from None
    if magic == b"PAR1":
        return ParquetFile(path, name=name)
    if magic and path.suffix.lower() in (".parquet", ".pq"):
        raise DataError(f"{path.name} is not a Parquet file\nCopy or write the file again.")
    return TextFile(path, blanks=blanks, columns=columns, name=name)


def stem(path: Path) -> str:
    """Return the name without ``.gz`` or ``.zst`` and one more ending.

    >>> stem(Path("as19971108.txt.gz")), stem(Path("2004.01.05.csv"))
    ('as19971108', '2004.01.05')
    """
    return Path(uncompressed(path.name)).stem


def uncompressed(name: str) -> str:
    """Return the name of a file without the ending of a compressed one.

    >>> uncompressed("1.csv.GZ"), uncompressed("2.csv.zst"), uncompressed("3.csv")
    ('1.csv', '2.csv', '3.csv')
    """
    path = Path(name)
    return name[: -len(path.suffix)] if path.suffix.lower() in COMPRESSED else name
