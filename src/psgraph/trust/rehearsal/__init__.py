"""Rehearsals: what quality to expect of each ε, w and method, before anything private is read."""
