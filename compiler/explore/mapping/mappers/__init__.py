"""The algorithms that search mappings: a file an algorithm, found by its name, or from outside (see `..mapper`)."""
