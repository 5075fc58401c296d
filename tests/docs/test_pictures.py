"""The pictures of the explanations are what their script draws today."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

EXPLANATION = Path(__file__).parents[2] / "docs/explanation"
PICTURES = EXPLANATION / "pictures"
LARGEST = 100_000  # bytes


@pytest.fixture(scope="module")
def draw() -> ModuleType:
    """The script."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(EXPLANATION))
        return importlib.import_module("draw")


def test_the_script_draws_the_committed_pictures(draw):
    assert {path.stem for path in PICTURES.glob("*.svg")} == set(draw.PICTURES)
    for name, picture in draw.PICTURES.items():
        committed = (PICTURES / f"{name}.svg").read_text(encoding="utf-8")
        assert committed == picture(), f"{name}: run python docs/explanation/draw.py"


@pytest.mark.parametrize("path", sorted(PICTURES.glob("*.svg")), ids=lambda path: path.stem)
def test_a_picture_is_small_and_says_what_it_shows(path):
    assert path.stat().st_size <= LARGEST
    root = ElementTree.fromstring(path.read_text(encoding="utf-8"))
    spaces = {"": "http://www.w3.org/2000/svg"}
    assert root.findtext("title", namespaces=spaces)
    assert len(root.findtext("desc", namespaces=spaces)) > 40
    assert not re.findall(r"https?://(?!www\.w3\.org/2000/svg)", path.read_text(encoding="utf-8"))
