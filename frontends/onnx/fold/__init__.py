"""
Operators on constants, computed while a file is read: shape arithmetic, and what exporters write as operators.

    limits.py       how much may be computed
    rules.py        which function computes an operator
    elementwise.py  arithmetic, comparison, choice, conversion
    moves.py        what moves elements: reshape, slice, gather, concat …
    made.py         what makes elements: constants, ranges, reductions
"""
