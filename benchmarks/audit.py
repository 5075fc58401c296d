"""Write the figures of the last full audit, docs/audit/audit.json, into its page.

`make audit` runs it after the audit.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from textwrap import fill
from typing import Any

START, END = "<!-- from audit.json -->\n", "<!-- end -->"


def summary(found: dict[str, Any]) -> str:
    """Return the paragraph about an audit, from its JSON."""
    efforts: dict[str, list[int]] = {}
    for check in found["checks"]:
        kind = "phases" if check["name"].startswith("phase: ") else check["kind"]
        efforts.setdefault("streams" if check["name"] == "2w releases" else kind, []).append(
            check["effort"]
        )
    verdicts, mutants = found["verdicts"], found["mutants"]
    reached = [row for row in found["reached"] if row["needed"]]
    missed = [row for row in reached if not row["times"].get("replay")]
    page = "[audit.html](audit.html), with all figures in [audit.json](audit.json)"
    took = f"{found['seconds'] / 60:.0f} minutes with {found['workers']} processes"
    sentences = (
        f"The last full audit is {page}: `make audit`, {took}",
        f"({found['machine']}, psgraph {found['psgraph']}).",
        f"Of {len(found['checks'])} checks {verdicts['held']} held,",
        f"{verdicts['not tested']} were not tested and {verdicts['failed']} failed;",
        f"{mutants['caught']} of {mutants['total']} deliberate bugs were found,",
        f"and {len(reached) - len(missed)} of {len(reached)} things that have to be reached were.",
        f"Every method was replayed on {_range(efforts['replay'])} pairs of neighbouring streams,",
        f"each in a setting of its own; phases have {_range(efforts['phases'])} runs, as many as",
        f"their processor time allows, mechanisms up to {max(efforts['bounds']):,} draws,",
        f"and whole streams {_range(efforts['streams'])} runs.",
    )
    text = " ".join(sentences)
    return fill(text, 140, break_long_words=False, break_on_hyphens=False)


def _range(efforts: Iterable[int]) -> str:
    low, high = min(efforts), max(efforts)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def written(page: str, found: dict[str, Any]) -> str:
    """Return the page with the figures of this audit."""
    before, _, rest = page.partition(START)
    return f"{before}{START}{summary(found)}\n{END}{rest.partition(END)[2]}"


def main(folder: Path) -> None:
    page = folder / "README.md"
    found = json.loads((folder / "audit.json").read_text())
    page.write_text(written(page.read_text(), found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
