"""
What flexibility gains a machine of 2014 on later networks (Kao et al., SIGMETRICS 2022), by our own cost model.

    settings.py    networks, machines, what is published
    networks.py    the contractions of a network on a machine, each with how often it runs
    design.py      the machine whose one mapping is best for several networks
    study.py       the rows
    view.py        tables, JSON, CSV
"""
