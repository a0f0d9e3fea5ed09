"""
Pictures, which matplotlib draws: it is optional (`pip install "npuc[plot]"`) and loaded only for a picture.

    palette.py   the colours of all pictures, told apart by colour-blind readers
    figure.py    the frame of a picture, its title, axes and numbers; its file, which holds no clock
    roofline.py  a machine's roofs, and points below them
"""
