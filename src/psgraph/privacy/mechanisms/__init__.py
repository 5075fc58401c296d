"""Mechanisms that every method may use, one file each."""
