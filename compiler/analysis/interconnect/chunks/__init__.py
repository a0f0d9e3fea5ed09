"""
Collectives in chunks, each of which crosses the levels of a network in an order of its own.

    stages.py      what a chunk does at each level, in an order
    events.py      when everything happens, where chunks wait for levels
    policies.py    the orders: one for all chunks, or those of Themis
    schedule.py    a collective by a policy: its time, its utilisation, and what no schedule is below
    exact.py       the best schedule of a small collective
"""
