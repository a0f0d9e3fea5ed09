"""
The network between devices: placement of a mesh, and bytes, time and energy of collectives.

    topology.py      levels of a network, and the groups of devices that a mesh makes of them
    described.py     a network as rows of `network.levels`, and as an attribute of a module
    algorithm.py     the interface of an algorithm, and the registry of all
    algorithms/      one file an algorithm: ring, fc, pair, switch
    collectives.py   a collective as stages one after the other (alpha-beta model)
    chunks/          collectives in chunks, each of which crosses the levels in an order of its own
    fluid/           congestion, where flows share links of a Clos fabric
"""
