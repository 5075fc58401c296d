"""Pages of HTML that stand alone: no network, no script, nothing to install.

`psgraph.reports.page` is the kit they are made with and `psgraph.reports.charts` draws for it.
"""
