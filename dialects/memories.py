"""The names of memories that programs, machines and messages share, as plain data."""

SCRATCHPAD = "SPM"
"""The innermost memory of blocks."""
