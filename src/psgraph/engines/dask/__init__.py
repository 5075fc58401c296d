"""The engine for a cluster: Dask runs the same tasks, on processes of this machine or on many.

    engine.py       runs tasks on workers, and records what every operation cost
    tasks.py        what a worker does, and how inputs and results travel
    connection.py   a local cluster, or connecting to a running one

Workers count and draw with keyed random numbers. Noise is drawn by the driver alone.
"""

from psgraph.engines.dask.engine import DaskEngine

__all__ = ["DaskEngine"]
