"""The documentation site builds strictly, is complete, and asks nobody else for anything."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType

import click
import pytest

import psgraph as pg

ROOT = Path(__file__).parents[2]
HOOKS = ROOT / "docs/_site"


def hook(name: str) -> ModuleType:
    specification = importlib.util.spec_from_file_location(name, HOOKS / f"{name}.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


class Requests(HTMLParser):
    """Collects the addresses that a browser would load while it shows a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            loads = name == "src" or (name == "href" and tag == "link")
            if loads and value and not (tag == "link" and ("rel", "canonical") in attrs):
                self.found.append(value)


def test_the_site_builds_strictly_and_loads_nothing_from_elsewhere(tmp_path):
    """One build for both, since it takes seconds."""
    done = subprocess.run(
        # Not --quiet: with it warnings are dropped before --strict counts them.
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", tmp_path],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "index.html").exists()
    pages = sorted(tmp_path.rglob("*.html"))
    assert len(pages) > 80
    for page in pages:
        requests = Requests()
        requests.feed(page.read_text())
        assert "```" not in page.read_text(), f"{page.relative_to(tmp_path)} shows a fence"
        outside = [each for each in requests.found if re.match(r"(https?:)?//", each)]
        assert not outside, f"{page.relative_to(tmp_path)} loads {outside}"
    for sheet in tmp_path.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(https?:)?//", sheet.read_text()), sheet.name
    assert 'href="publish/"' in (tmp_path / "reference/commands/index.html").read_text()
    assert 'id="--epsilon"' in (tmp_path / "reference/commands/publish/index.html").read_text()
    runs = (tmp_path / "reference/commands/experiment/index.html").read_text()
    assert 'id="run--quick"' in runs
    explainer = (tmp_path / "explainer/index.html").read_text()
    for target in re.findall(r'href="(\.\./[^"#]*)"', explainer.partition("</nav>")[0]):
        assert (tmp_path / "explainer" / target / "index.html").exists(), target
    front = (tmp_path / "index.html").read_text()
    assert pg.__version__ in front
    for target in re.findall(r'class="md-button[^>]* href="([^"]+)"', front):
        page = tmp_path / target
        assert (page if page.suffix else page / "index.html").exists(), target
    methods_page = (tmp_path / "reference/methods/index.html").read_text()
    assert 'href="../../proofs/growth-pass/"' in methods_page.partition("asked by")[2]
    assert "<sup>−r</sup>" in (tmp_path / "proofs/discrete-laplace/index.html").read_text()


def test_the_readme_is_a_front_page():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150


def test_every_public_name_is_in_the_reference():
    pages = (ROOT / "docs/reference/api").glob("*.md")
    documented = set(
        re.findall(r"^::: (\S+)$", "\n".join(map(Path.read_text, pages)), re.MULTILINE)
    )
    public = {f"psgraph.{name}" for name in pg.__all__} - {"psgraph.__version__"}
    assert public <= documented, f"add `::: NAME` for {sorted(public - documented)}"


def test_every_option_of_every_command_has_an_anchor():
    from psgraph.cli import root

    pages = hook("generated").command_pages()
    assert list(pages) == root.list_commands(None)
    for name, page in pages.items():
        command = root.get_command(click.Context(root), name)
        below = getattr(command, "commands", {"": command})
        for owner, each in below.items():
            for option in (one for one in each.params if isinstance(one, click.Option)):
                anchors = {f"{{ #{owner}{written} }}" for written in option.opts}
                assert option.hidden or any(anchor in page for anchor in anchors), (name, option)
        assert "\x1b[" not in page
        anchors = re.findall(r"\{ #(\S+) \}", page)
        assert len(anchors) == len(set(anchors)), f"{name}: two options share an anchor"


def test_options_in_help_texts_are_code():
    """Also on a phone: a line may not end in the middle of one."""
    prose = hook("generated").prose
    assert prose("With --every: a_b, or `x --until y`") == "With `--every`: a\\_b, or `x --until y`"
    assert prose("--set a=0.5; psgraph plan shows") == "`--set a=0.5`; `psgraph plan` shows"


def test_options_in_code_are_kept_together():
    shown = hook("options").on_page_content("<td><code>-v --at-most 2</code></td>")
    assert shown.count('<span class="option">') == 2
    listing = "<pre><span></span><code>psgraph plan --window 5</code></pre>"
    assert hook("options").on_page_content(listing) == listing


def test_link_texts_are_not_file_names():
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("proofs/*.md")]:
        found = re.findall(r"\[([\w-]+\.md)\]\(", path.read_text())
        assert not found, f"{path.relative_to(ROOT)}: name the page, not its file: {found}"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("e^(−ε/2)", "e<sup>−ε/2</sup>"),
        ("q^|k|", "q<sup>|k|</sup>"),
        ("ε_r/4", "ε<sub>r</sub>/4"),
        ("I_{j−1}(E)", "I<sub>j−1</sub>(E)"),
        ("O(m^1.5)", "O(m<sup>1.5</sup>)"),
        ("at most e^ε.", "at most e<sup>ε</sup>."),
        ("`noisy_count` and tests/docs/test_site.py", "`noisy_count` and tests/docs/test_site.py"),
        ("[E_t](a_b.md)", "[E<sub>t</sub>](a_b.md)"),
        ("a plain sentence, 1_000 and snake_case", "a plain sentence, 1_000 and snake_case"),
    ],
)
def test_formulas_are_set(written, shown):
    formulas = hook("formulas")
    page = type("Page", (), {"file": type("File", (), {"src_uri": "proofs/ladder.md"})})
    assert formulas.on_page_markdown(written, page=page) == shown


@pytest.mark.parametrize(
    ("target", "page", "moved"),
    [
        ("../../proofs/ladder.md#assumed", "how-to/scale.md", "../proofs/ladder.md#assumed"),
        ("docs/how-to/install.md", "index.md", "how-to/install.md"),
        ("proofs/", "index.md", "proofs/README.md"),
        ("../PRIVACY.md", "proofs/ladder.md", "../PRIVACY.md"),
        ("https://example.org/a", "index.md", "https://example.org/a"),
        ("../../src/psgraph/cli", "how-to/experiments.md", None),
    ],
)
def test_links_lead_to_the_same_page_in_the_site(target, page, moved):
    assert hook("repository").move_target(target, page) == moved


def test_a_link_to_source_code_becomes_text():
    repository = hook("repository")
    text = "see [the code](../../src/psgraph/cli) and [input](../reference/input.md)"
    expected = "see the code and [input](../reference/input.md)"
    assert repository.move_links(text, "how-to/experiments.md") == expected
