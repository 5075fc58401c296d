"""Record a terminal session as a picture: `make demo-pictures`.

The commands run for real, on the input that `psgraph demo` wrote; what they print is drawn as SVG.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

WIDTH = 92
COMMANDS = (
    "psgraph publish edges.parquet --roster nodes.csv --epsilon 1 --window 12 --out releases",
    "psgraph verify releases",
)
THEME = TerminalTheme(
    (29, 33, 38),
    (226, 231, 236),
    [
        (29, 33, 38),
        (255, 138, 76),
        (76, 199, 155),
        (230, 159, 0),
        (86, 180, 233),
        (255, 143, 176),
        (120, 200, 215),
        (226, 231, 236),
    ],
)
#: The picture loads nothing: a reader's own typeface, no web font.
WEB_FONT = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


def printed(command: str, directory: Path) -> str:
    """What a command prints on a terminal, with its colours and without its progress."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, WIDTH, 0, 0))
    running = subprocess.Popen(
        [sys.executable, "-m", *command.split()],
        cwd=directory,
        env={**os.environ, "TERM": "xterm-256color"},
        stdout=theirs,
        stderr=subprocess.DEVNULL,
    )
    os.close(theirs)
    found = bytearray()
    with suppress(OSError):  # Linux reports the end of a terminal as an error
        while block := os.read(ours, 65536):
            found += block
    os.close(ours)
    if running.wait():
        raise SystemExit(f"{command}: exit code {running.returncode}")
    return found.decode().replace("\r\n", "\n").rstrip()


def record(directory: Path) -> str:
    """Run the commands in the directory of a demo; returns the picture."""
    with Path(os.devnull).open("w") as nowhere:
        console = Console(record=True, width=WIDTH, file=nowhere, highlight=False)
        for number, command in enumerate(COMMANDS):
            console.print("\n" * min(number, 1) + f"[bold green]$[/] [bold]{command}[/]")
            text = Text.from_ansi(printed(command, directory))
            text.rstrip()
            console.print(text)
        drawn = console.export_svg(title="psgraph", theme=THEME, unique_id="session")
    return WEB_FONT.sub("", drawn)


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(record(Path(sys.argv[1])))
