"""A report as slices of time on tracks (`slices.py`); `beside.py` where movement runs beside work."""
