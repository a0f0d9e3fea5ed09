"""
A step whose movements between devices run beside work.

    links.py     levels of the network as servers, for which stages of several movements wait
    step.py      work of a device and movements, in the order of the program: when each happens, what is exposed
    buckets.py   into which buckets gradients go, so that a step is shortest
    bound.py     what no schedule of the same work and movements exposes less than
"""
