"""
Networks of other tools, written as statements of the network language.

    script.py     a network under construction: each statement is executed as it is written
    context.py    what the meaning of an operator is written with: writer.py writes calls, recognise/ finds shorter ones
    weights.py    parameters before a layer makes them its own
    moves.py      transposes that need not be computed
    constants.py  the values of what depends on no input
    training.py   from outputs to a training step: losses, labels, the optimizer
    requests.py   losses and optimizers that a command line names, as syntax of the language
    rebatch.py    the same network with another batch, where the graph is of one
    text/         the network as text: modules as blocks, repeated ones as loops

A frontend for a graph format says with a `Script` what each of its operators means, once, as calls of the language's
functions and blocks. From the same statements come the program and its text.
"""
