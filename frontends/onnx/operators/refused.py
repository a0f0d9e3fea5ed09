"""Operators of ONNX that have no meaning here, and why: messages and the table of operators say it."""

from __future__ import annotations

from collections.abc import Mapping

QUANTISED = "it is of quantised numbers"
TEXT = "it is of texts"
RANDOM = "random numbers count only where they become a mask"
FUNCTION = "the language has no such function"

REASONS: Mapping[str, str] = {
    **dict.fromkeys(
        (
            *("ConvInteger", "DequantizeLinear", "DynamicQuantizeLinear", "MatMulInteger", "QLinearConv"),
            *("QLinearMatMul", "QuantizeLinear"),
        ),
        QUANTISED,
    ),
    **dict.fromkeys(("RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit", "TfIdfVectorizer"), TEXT),
    **dict.fromkeys(("Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"), RANDOM),
    **dict.fromkeys(
        (
            *("BitCast", "BlackmanWindow", "DeformConv", "Det", "GlobalLpPool", "HammingWindow", "HannWindow"),
            *("ImageDecoder", "MaxRoiPool", "MelWeightMatrix", "Bernoulli"),
        ),
        FUNCTION,
    ),
}
"""The reasons by the names of ONNX's own operators."""
