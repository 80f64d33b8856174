"""Primitives that corruptions are made of: compiled loops, and OpenCV where it has the loop already.

Kernels know nothing of severities or names. They take uint8 or float32 arrays, physical parameters and keys,
release the GIL, and do plain IEEE arithmetic in a fixed order, so that a CPU's vector width changes no pixel.
"""
