"""PSGraph+: measure rarely, filter over time, realise degrees and mixing exactly."""
