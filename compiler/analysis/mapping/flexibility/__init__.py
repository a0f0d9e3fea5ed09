"""
How flexible a machine is: of all choices that its buffer and its elements allow, which it supports, and which a
contraction can use (Kao et al., "A Formalism of DNN Accelerator Flexibility", SIGMETRICS 2022).

    axes.py       the four axes, and the classes of sixteen
    tiles.py      how many tiles a buffer holds, exactly or by samples
    choices.py    orders of loops, pairs of parallel dimensions, shapes of the array
    flexion.py    the shares of them: hardware flexion and workload flexion
"""
