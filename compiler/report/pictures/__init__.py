"""
Reports as pictures.

    layers.py     the time of each layer by phase, and its products below the roofs of the machine
    reuse.py      what reuse saves by the capacity of the cache
    training.py   the loss and the time of training steps that ran
"""
