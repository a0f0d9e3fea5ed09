"""Searches that compile or score many times: over points of a design, and over mappings."""
