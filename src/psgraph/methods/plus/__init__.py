"""PSGraph+: streaming graph synthesis that measures little, rarely and filters over time."""
