"""The trusted kernel: exact budgets, exact noise, and the mechanisms that every method may use.

A private value is released by a mechanism only: one in `mechanisms`, or one beside the method that
brings it. `budget` charges for both. The kernel imports NumPy, numba and cryptography, and of
psgraph only the errors and the runtime.
"""
