"""
The search for a machine for a network, with a mapping of every contraction: `npuc design`.

    costs.py          what a mapping costs and needs on a machine whose size is open
    archive.py        the mappings of a contraction that are worth keeping
    combine.py        the best machines of all known mappings, exactly
    clusters.py       kinds of clusters, and what a step takes on them at least
    population.py     breeding mappings of a contraction
    constrained.py    the mappings that constraints leave, and what no machine meets
    classes.py        classes of flexibility, with a dataflow on axes that are fixed
    search.py         where to breed next
    explore.py        several goals, and the front of what no other machine beats
    evaluation.py     what children cost, in several processes, and kept in a record
    budget.py, energy.py, goal.py     area, power, what accesses cost, and what is minimised
    task.py, scored.py, machine_file.py, driver.py     from a source to machines that `npuc compile` confirms
    result.py, table.py, picture.py     the result as JSON and CSV, as text, as a picture
"""
