"""Methods turn snapshots into synthetic graphs; `base` has the protocol all of them follow."""
