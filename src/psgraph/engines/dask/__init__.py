"""The engine for a cluster: Dask runs the same tasks, on processes of this machine or on many.

    engine.py       runs tasks on workers and adds up what they return
    tasks.py        what a worker does, and whether it runs the same code as the driver
    transport.py    how inputs and results travel, and released edges that stay on the workers
    connection.py   a local cluster, or connecting to a running one
    statistics.py   seconds, tasks and bytes of every operation

Workers count and draw with keyed random numbers. Noise is drawn by the driver alone.
"""

from psgraph.engines.dask.engine import DaskEngine

__all__ = ["DaskEngine"]
