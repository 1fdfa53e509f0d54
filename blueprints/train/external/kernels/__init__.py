"""Kernels of external sampling."""
