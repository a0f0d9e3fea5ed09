"""Searching mappings: a space, mappers that propose candidates of it, and what takes the best."""
