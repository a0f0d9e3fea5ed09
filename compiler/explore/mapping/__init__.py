"""
The search for mappings of a program: `npuc map`.

    task.py          one contraction as a search: its space, the costs of candidates, initial mappings
    space.py         clusters, tiles and orders that mappings may have, `directives.py` those of mode parity
    candidates.py    many mappings at once, and what proposes them
    genomes.py, vectors.py          mappings as what is bred, and as points of a space of real numbers
    mapper.py        search algorithms by their names, which are in `mappers/`
    constrained/     spaces under constraints
    capacity.py, received.py        tiles that fit into the buffers, and how often they are filled
    bounds.py        lower bounds of what mappings cost
    screen.py, estimate.py          which candidates to evaluate
    best.py          costs of candidates, and the best one so far
    search.py        every distinct contraction of a module, and the mappings written into it
    searcher.py, record.py          several searches at once, whose costs are kept in a file
    result.py, table.py             the result as JSON and CSV, and as text
    picture.py       the best cost over the candidates tried
"""
