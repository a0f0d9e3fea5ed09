"""
A comparison of the backends `cycle` and `maestro` on the same products under the same dataflow, with its reasons.

    study.py      the rows
    view.py       table, JSON, CSV
"""
