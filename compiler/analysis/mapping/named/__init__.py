"""
Mappings by name: published dataflows, for any contraction and machine.

    templates.py     the dataflows, their other names and where they come from
    roles.py         which dimensions of a nest a dataflow speaks of
    directives.py    a dataflow for a layer in MAESTRO's terms
    clusters.py      the same for a nest in cluster form
"""
