"""What ``psgraph bench`` measures: cases, made-up streams for them, and the measuring itself.

Every case is made ready in one process and measured in another, ``python -m psgraph_lab.bench``,
so that its peak memory is its own.
"""
