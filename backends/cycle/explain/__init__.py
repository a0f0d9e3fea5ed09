"""
The explanation of an operation's time, which `npuc explain` shows.

    explanation.py what is said of an operation, as data
    words.py      the facts of an operation, from its row and the analyses behind it
    certified.py  its traffic beside the lower bound
    stationary.py loads of stationary tiles
    fusing.py     vector work and moves, by themselves or as epilogues
    resident.py   resident operands and results
    programs.py   the cost of its products as other programs
    order.py      the order of tiles
    text.py       as text with block characters
    picture.py    as a picture: programs, the time of each operation, the order of tiles
"""

from npuc.backends.cycle.explain.certified import certified_pair
from npuc.backends.cycle.explain.explanation import Explanation
from npuc.backends.cycle.explain.picture import draw
from npuc.backends.cycle.explain.programs import BACKWARD, Candidate, backward_products, compare
from npuc.backends.cycle.explain.text import to_text
from npuc.backends.cycle.explain.words import explain

__all__ = [
    "BACKWARD",
    "Candidate",
    "Explanation",
    "backward_products",
    "certified_pair",
    "compare",
    "draw",
    "explain",
    "to_text",
]
