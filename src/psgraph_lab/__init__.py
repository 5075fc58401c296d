"""The laboratory: data sets, experiments, the paper's claims and benchmarks.

psgraph never imports this package; its commands reach the command line by entry points.
"""
