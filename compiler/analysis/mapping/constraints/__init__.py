"""
Constraints of mappings: what a machine, a workload or a user allows of a map space.

    words.py      the words of a rule: orders, dimensions, tiles
    rules.py      rules as they are written in a hardware file or a file of their own
    limits.py     what they mean for the dimensions of one contraction
    resolve.py    from the one to the other
    check.py      whether mappings meet them
    broken.py     what a mapping does not meet
"""
