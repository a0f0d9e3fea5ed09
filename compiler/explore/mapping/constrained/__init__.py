"""
Searching under constraints.

    legal.py       the tiles and orders that constraints leave
    possible.py    whether there is any mapping, and which constraints cannot be met together
    shape.py       genomes that express mappings which meet them
"""
