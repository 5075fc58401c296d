"""The index of a directory of results: a link to every page."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

from psgraph._runtime.durable import make_directory
from psgraph._runtime.numbers import joined
from psgraph.reports.page import Page
from psgraph_lab.experiments.definition import Experiment
from psgraph_lab.experiments.markdown import Markdown
from psgraph_lab.experiments.pages import NOT_PRIVATE

__all__ = ["write_index"]

#: Pixels of the corner of a figure that its thumbnail shows, and of the thumbnail.
_CORNER, _THUMBNAIL = (640, 480), (640, 480)


def write_index(out: Path, experiments: Sequence[Experiment], *, html: bool = False) -> Path:
    """Write ``README.md``, with a link to every page in the directory; returns its path.

    With `html`, ``index.html`` is written as well and links to the HTML pages.

    Examples
    --------
    >>> import tempfile
    >>> from psgraph_lab.experiments.definition import find_experiment
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     _ = (Path(directory) / "claims.md").write_text("…")
    ...     _ = write_index(Path(directory), [find_experiment("claims")])
    ...     "](claims.md)" in (Path(directory) / "README.md").read_text()
    True
    """
    make_directory(out)
    title = "Reproducing the paper's evaluation"
    about = "One page per figure or table of the paper, with results from this package."
    there = [each for each in experiments if (out / f"{each.name}.md").exists()]
    missing = [each.name for each in experiments if each not in there]
    note = f"Not run yet: {joined(missing)}." if missing else ""
    text = Markdown(title)
    text.paragraph(about)
    for each in there:
        text.verbatim(_entry(each, has_figure=(out / f"{each.name}.png").exists()))
    if note:
        text.paragraph(note)
    text.paragraph(NOT_PRIVATE)
    if html:
        page = Page(title, subtitle=about)
        page.links([_card(out, each) for each in there if (out / f"{each.name}.html").exists()])
        if note:
            page.paragraph(note, kind="note")
        page.paragraph(NOT_PRIVATE)
        page.write(out / "index.html")
    return text.write(out / "README.md")


def _card(out: Path, experiment: Experiment) -> tuple[str, str, str, bytes | None]:
    """A card of the HTML index: address, title, description, thumbnail."""
    thumbnail = _thumbnail(out / f"{experiment.name}.png")
    return f"{experiment.name}.html", experiment.title, _where(experiment), thumbnail


def _where(experiment: Experiment) -> str:
    origin = experiment.paper or "Not in the paper"
    return f"{origin}. {' '.join(experiment.about.split())}"


def _entry(experiment: Experiment, *, has_figure: bool) -> str:
    """Markdown for one link with a small figure."""
    link = f"## [{experiment.title}]({experiment.name}.md)\n\n{_where(experiment)}"
    shown = f'<img src="{experiment.name}.png" width="800" alt="">'
    return f"{link}\n\n[{shown}]({experiment.name}.md)" if has_figure else link


def _thumbnail(path: Path) -> bytes | None:
    """The top left corner of a figure, small, with text that is still legible."""
    from PIL import Image

    if not path.exists():
        return None
    sink = BytesIO()
    with Image.open(path) as picture:
        width, height = map(min, picture.size, _CORNER)
        small = picture.convert("RGB").crop((0, 0, width, height))
        small.thumbnail(_THUMBNAIL)
        small.quantize(64, dither=Image.Dither.NONE).save(sink, format="png", optimize=True)
    return sink.getvalue()
