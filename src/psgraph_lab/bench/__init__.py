"""Benchmarks for ``psgraph bench``: cases, synthetic streams for them, and timing.

Every case is prepared in one process and timed in another, ``python -m psgraph_lab.bench``, so that
its peak memory is its own.
"""
