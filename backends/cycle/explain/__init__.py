"""
How the time of an operation comes about: what `npuc explain` shows.

    words.py     the facts of one operation, from its row and the analyses behind it
    text.py      as text with block characters
    svg.py       as a picture
"""

from npuc.backends.cycle.explain.svg import to_svg
from npuc.backends.cycle.explain.text import to_text
from npuc.backends.cycle.explain.words import Explanation, explain

__all__ = ["Explanation", "explain", "to_svg", "to_text"]
