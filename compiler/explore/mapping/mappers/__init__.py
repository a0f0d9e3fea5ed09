"""The search algorithms for mappings, one per file, found by name; others come from outside (see `..mapper`)."""
