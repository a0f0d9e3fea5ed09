"""
Another batch than the one that a model was exported for.

The model is walked twice. The first walk, at the exported batch, tells the shape of each value there; it is checked
against the shapes that the file says. In the second one an axis is of the batch where its size differs from that. What
an exporter wrote as a constant, the new shape of a Reshape or an Expand, and rows that are repeated for the batch, is
then written anew. Each result must have the exported shape but for one axis, which has grown as the batch has.

A network's text has its batch as a parameter by `frontends/script/rebatch.py`, which changes sizes of calls alone; here
weights and listed places change too, and whoever asks for a batch with `-D` learns at which node it cannot be.

    exported.py  the first walk: the shapes of the export
    new.py       the second one
"""
