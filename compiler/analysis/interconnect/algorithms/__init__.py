"""
The algorithms by which a group of devices communicates along one level of a network: one per file, found by name.

    algorithm   reduce-scatter, all-gather       all-to-all                       send and receive
    pair        one exchange                     one exchange                     one message
    ring        p - 1 steps around the ring      each part the shorter way        the shorter way, or both
    fc          one step, to each directly       one step, to each directly       over one link
    switch      halving and doubling, log2 p     pairwise exchange, p - 1 steps   through the switch
    torus       rings, all dimensions at once    along one dimension after the other, the shorter way or both
    mesh        lines, all dimensions at once    along one dimension after the other

A level uses the algorithm named after its kind unless it names another (`NetworkLevel.algorithm`). Sources: Thakur,
Rabenseifner, Gropp, "Optimization of Collective Communication Operations in MPICH", IJHPCA 2005; Rashidi et al.,
"Themis", ISCA 2022, table 1.
"""
