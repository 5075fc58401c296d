"""Graphs in and out: one module per library, and the kinds of tables.

========== ==================================================================
networkx   `to_networkx`, `from_networkx`
igraph     `to_igraph`, `from_igraph`
scipy      `to_scipy`, `from_scipy`
pyg        PyTorch Geometric: `to_pyg`, `from_pyg`
tables     Arrow, pandas, polars: `to_arrow`, `to_pandas`, `to_polars`, `from_table`
text       delimited text files, read block by block
parquet    Parquet files, read batch by batch
frames     data frames in memory, read like files
========== ==================================================================

The methods of `psgraph.graph.Graph` are the way to call them; optional libraries are imported
only when used.
"""
