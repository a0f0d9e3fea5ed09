"""
Models of Keras from what `model.to_json()` writes, of Keras 2 and 3; nothing of Keras is needed, no code is executed.

    document.py     the JSON: whose it is, and what else it may be
    model.py        layers, calls and models of models as frozen data, from both forms
    sizes.py        the sizes that a model leaves free
    values.py       tensors, whose channels may stand first
    layer.py        what the meaning of a layer is written with; config.py reads its options
    layers/         the meanings, by the classes of layers
    activations.py  the activations by their names
    walk.py         the calls in order
    training.py     the loss and the optimizer that a model was compiled with
    read.py         from a file to a program

Images of Keras have their channels last, those of the language first: a value keeps the order that its maker has, and
is transposed where the next one needs the other, so that a network of convolutions transposes its input alone.
"""
