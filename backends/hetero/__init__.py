"""
The backend `hetero`: matrix products on units of several kinds, with the densities of their operands.

    products.py   contractions as products, and the units that each runs on
    rows.py       the rows of products and of other work
    scorer.py     the report of a program
    backend.py    the backend itself

The model, its sources and its limits are in docs/hetero.md; units and splits are `compiler/analysis/hetero/`. The
hardware key `units` is the machine's own (`hardware/unit_rows.py`).
"""
