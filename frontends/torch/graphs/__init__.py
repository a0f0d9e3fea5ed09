"""
Calls that take graphs: blocks under a mode, branches, loops.

    control.py     what each such operator means
    call.py        one of them while it is written
    autocast.py    operators in a block that chooses their precision
    known.py       which operators of all graphs have a meaning
"""
