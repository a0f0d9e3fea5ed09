"""
Calls that write in place, as values that change.

    effects.py   which calls count, and which values share memory that is written
    views.py     which results of operators share memory, and what their operand is after a write to one
    values.py    the values by name, each as it is after the writes so far
"""
