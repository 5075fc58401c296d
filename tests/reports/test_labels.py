"""The block matrix of public labels in reports."""

from __future__ import annotations

import re

from psgraph.pictures.style import ALL_COLOURS
from psgraph.reports.labels import add_label_blocks
from psgraph.reports.page import Page
from psgraph.streams.demo import demo_stream


def test_a_column_has_a_chart_for_each_graph_whose_cells_look_the_same_on_dark_pages():
    [snapshot] = demo_stream(nodes=400, timestamps=1, labels=True)
    page = Page("Labels", subtitle="")
    add_label_blocks(page, {"original": snapshot, "release": snapshot}, when="2024-01-01")
    charts = re.findall(r"<svg.*?</svg>", page.html(), flags=re.DOTALL)
    cells = [re.findall(r"fill: (#[0-9a-f]{6})", chart) for chart in charts]  # others are variables
    assert [len(each) for each in cells] == [49, 49]
    assert not {*cells[0], *cells[1]} & {*ALL_COLOURS}


def test_nothing_is_added_without_labels():
    [snapshot] = demo_stream(nodes=400, timestamps=1)
    page = Page("Labels", subtitle="")
    before = page.html()
    add_label_blocks(page, {"release": snapshot}, when="2024-01-01")
    assert page.html() == before
