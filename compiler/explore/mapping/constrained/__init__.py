"""
Searching under constraints.

    demands.py     the constraints of every contraction, and what to say where none of its mappings meets them
    legal.py       the tiles and orders that constraints leave
    possible.py    whether there is any mapping, and which constraints cannot be met together
    shape.py       genomes that express mappings which meet them
"""
