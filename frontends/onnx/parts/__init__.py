"""
What several operators are made of, written with the context of a call.

    windows.py    the windows of convolutions and poolings, as nodes say them
    attending.py  heads, masks and products of attention
    steps.py      one step of a recurrent layer after another
"""
