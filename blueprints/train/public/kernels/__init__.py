"""Kernels of public chance sampling."""
