"""The engine for a cluster: Dask runs the same tasks, on processes of this machine or on many.

    runner.py       runs tasks on workers and adds up what they return
    tasks.py        what a worker does
    calls.py        how a task gets its inputs
    packing.py      integers on their way to the driver, as narrow as they can be
    held.py         released edges that stay on the workers
    connection.py   a local cluster or somebody else's, and whether its workers run the same code
    worker_setup.py what a worker of the local cluster does first
    statistics.py   seconds, tasks and bytes of every verb

Workers count and draw with keyed random numbers. Noise is drawn by the driver alone.
"""

from psgraph.engines.dask.engine import DaskEngine

__all__ = ["DaskEngine"]
