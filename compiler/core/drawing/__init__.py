"""
What all pictures of npuc share.

    svg.py      pictures that this package writes itself: style, text and its width, the page
    figure.py   plots by matplotlib, which is optional
"""
