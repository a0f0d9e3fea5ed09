"""
The iteration of a lowered program: a second way to the steps and tensors of `backends/roofline/iteration/`.

`units.py` says which operations are one step, `memory.py` which part of memory each value is, `steps.py` makes the
steps. Plans, prefetches and the timeline are those of the forward graph.
"""
