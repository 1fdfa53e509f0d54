"""Kernels: free functions on arrays, compiled by numba."""
