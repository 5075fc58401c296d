"""Where edge-sized work runs: `runner.Runner` is the protocol, queries and samplers use it."""
