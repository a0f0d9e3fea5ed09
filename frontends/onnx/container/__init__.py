"""
What an ONNX file says, as plain data, without the onnx package.

    load.py            a file, mapped, or bytes at hand
    wire.py            messages of protocol buffers, within bounds
    decode.py          from messages to the model
    model.py           the model: graphs, nodes, attributes, functions
    tensors.py         tensors, whose content is read when it is asked for
    element_types.py   their element types
    external.py        content in files beside the model
"""
