"""
Congestion control on RoCE fabrics under collectives (Khan et al., HOTI 2022), repeated by a fluid model.

    settings.py    the fabric, the laws and all constants with their sources
    patterns.py    an incast, a victim, a ring of waits
    study.py       the measurements and the finding
    view.py        tables, JSON, CSV
    plot.py        queues and rates over time
"""
