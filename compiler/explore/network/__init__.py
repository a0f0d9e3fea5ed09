"""
Networks between devices, chosen for a program: what bandwidth of which level is worth.

    program.py     a source as a step: its work, and what it sends along the levels of any network
    choose.py      the best split of a total or a budget, also over other levels
    result.py      what was found, as data, JSON and CSV
    table.py       the same as text
    picture.py     time against cost
    machine.py     the machine with the best split, as a file
"""
