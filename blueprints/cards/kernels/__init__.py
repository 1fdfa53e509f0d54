"""Kernels of the card abstraction."""
