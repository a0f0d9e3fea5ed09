"""
The JSON of an exported program, as PyTorch's schema 8 lays it out: what is read of it, in types that check it.

Fields that PyTorch adds within a major version are skipped. Source: torch/_export/serde/schema.py of PyTorch 2.13,
which writes 8.20. A union is an object of which one field is set.
"""
