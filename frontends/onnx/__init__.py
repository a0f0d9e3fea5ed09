"""Reads ONNX models without the onnx package: `load.py` reads a file, `model.py` is what it says."""
