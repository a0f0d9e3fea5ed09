"""Measurements of npuc: ratios by pytest-benchmark (`test_*.py`), and a history of what commands take (`history/`)."""
