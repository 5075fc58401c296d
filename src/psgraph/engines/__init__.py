"""Where edge-sized work is done. Methods see a few verbs (`base.Engine`), not the arrays."""
