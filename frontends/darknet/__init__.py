"""
Networks of darknet (Redmon, 2013-2016) and of its fork by Bochkovskiy, from their `.cfg` files.

    cfg.py          the sections and options of a file, with their places
    network.py      [net]: sizes, batch, the optimizer
    layer.py        what the meaning of a section is written with
    layers/         the meanings, by the names of sections
    activations.py  the activations by their names
    read.py         from a file to a program
"""
