"""Charts of the reports inside a page that forbids style attributes."""

from __future__ import annotations

from psgraph.reports.charts import blank_chart, finish
from psgraph.reports.page import Page
from psgraph.service.pages.charts import embedded


def test_a_chart_keeps_its_look_without_style_attributes() -> None:
    figure, axes = blank_chart("errors < 1")
    axes.plot([0, 1], [1, 2], color="#0072b2", linestyle="--", label="a")
    axes.legend()
    page = Page("")
    page.figures([(finish(figure), "Errors")], caption="a < b")
    text = embedded(page)
    assert "style=" not in text
    assert 'stroke="var(--data-0072b2, #0072b2)"' in text
    assert "stroke-dasharray=" in text
    assert 'font-size="9.5px"' in text
    assert "errors &lt; 1" in text
