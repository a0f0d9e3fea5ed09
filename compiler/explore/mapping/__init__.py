"""
Searching mappings for a program: what `npuc map` does.

    task.py       one contraction as a search: its space, what candidates cost, mappings to begin with
    search.py     every distinct contraction of a module, and the mappings written into it
    result.py     what was found, as JSON and CSV
    table.py      the same for people
    picture.py    the best cost over the candidates that were tried
"""
