"""``python -m psgraph`` is the command ``psgraph``."""

from __future__ import annotations

from psgraph.cli import main

if __name__ == "__main__":
    main()
