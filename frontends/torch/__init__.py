"""
PyTorch's exported programs (`torch.export.save`), read without PyTorch.

`load` opens a file as an `ExportedProgram` of `program`: graphs, types and names as frozen data without any meaning.
A file is a zip archive (`archive`) of one JSON text (`schema` is its format, `convert` checks it) and the raw bytes of
tensors (`weights`). Nothing in it is executed or unpickled; sizes are expressions as text (`expressions`).
"""
