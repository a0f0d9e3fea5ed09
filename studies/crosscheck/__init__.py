"""
How far the backends `cycle` and `maestro` are from each other, and why: the same products under the same dataflow.

    study.py      the rows
    view.py       table, JSON, CSV
"""
