"""
How the time of an operation comes about: what `npuc explain` shows.

    words.py     the facts of one operation, from its row and the analyses behind it
    certified.py how far its traffic is from what has to move
    fusing.py    vector work and moves, by themselves or on finished blocks
    resident.py   what stays in scratchpad before and after it
    programs.py  what its products could have cost as other programs
    order.py     the order of tiles
    text.py      as text with block characters
    svg.py       as a picture
"""

from npuc.backends.cycle.explain.certified import certified_pair
from npuc.backends.cycle.explain.programs import BACKWARD, Candidate, backward_products, compare
from npuc.backends.cycle.explain.svg import to_svg
from npuc.backends.cycle.explain.text import to_text
from npuc.backends.cycle.explain.words import Explanation, explain

__all__ = [
    "BACKWARD",
    "Candidate",
    "Explanation",
    "backward_products",
    "certified_pair",
    "compare",
    "explain",
    "to_svg",
    "to_text",
]
