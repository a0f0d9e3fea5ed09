"""The cost of a mapping: its levels, the cases of each, their transfers and their time."""
