"""
Bandwidth over the levels of a network (Won et al., "LIBRA", ISPASS 2024), repeated.

    settings.py    the networks, who takes part in which collective, prices
    workloads.py   the authors' workloads (workloads.csv) as steps, and npuc's own programs
    study.py       the best splits
    view.py        tables, JSON, CSV
    plot.py        time against cost
"""
