"""
The search for mappings of a program: `npuc map`.

    task.py       one contraction as a search: its space, the costs of candidates, initial mappings
    search.py     every distinct contraction of a module, and the mappings written into it
    result.py     the result as JSON and CSV
    table.py      the result as text
    picture.py    the best cost over the candidates tried
"""
