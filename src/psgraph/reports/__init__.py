"""Self-contained HTML reports: no network, no scripts, nothing to install.

`psgraph.reports.page` builds pages and `psgraph.reports.charts` draws charts for them.
"""
