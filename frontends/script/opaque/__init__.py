"""
Operators without a meaning, priced: formulas of their work from a file, and calls of `opaque`.

    formula.py   arithmetic on sizes, parsed here and bounded; no code
    entries.py   what a file says of an operator: the axes of its tensors, formulas
    file.py      files of entries, npuc's own (`known.toml`) and a user's
    counts.py    the work of a call, for the shapes of its tensors
    calls.py     the call that a graph's script gets, and what is to be said of it
"""
