"""A loop nest and its schedule: blocks, what they move, and how little any schedule could."""
