"""Units of memory."""

MIB = 1 << 20
"""The bytes of a mebibyte."""
