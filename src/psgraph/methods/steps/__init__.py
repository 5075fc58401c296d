"""Steps that several methods share; post-processing of noisy values unless a step says so."""
