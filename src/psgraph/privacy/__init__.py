"""The trusted kernel: exact budgets, exact noise, and the mechanisms that join them.

Everything that touches a private value on its way out is in this folder, and nothing else is.
It imports NumPy, numba and cryptography, and of psgraph only the errors and the compiler.
"""
