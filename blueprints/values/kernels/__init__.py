"""Kernels of what a blueprint's play is worth."""
