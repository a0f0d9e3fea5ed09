"""
Which split of bandwidth over the levels of a network makes a step shortest, or time times cost least.

    traffic.py      what a step sends along each level, and its time at any bandwidths
    limits.py       linear limits of bandwidths: totals, budgets, and those that are written `b1 >= 2 b2`
    feasible.py     which limits cannot be met together
    program.py      the linear program behind all searches, and cuts of its only nonlinear part
    fastest.py      the shortest step
    product.py      the least product of time and cost
    curve.py        the shortest step for any total or price
"""
