"""Machines with several levels of memory on the chip: what moves between them, and what is refused there."""
