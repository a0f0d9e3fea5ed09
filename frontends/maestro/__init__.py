"""
Mapping files of MAESTRO (github.com/maestro-project/maestro): layers, each with the directives that map it.

    Network net {
      Layer conv1 {
        Type: CONV
        Dimensions { K: 64, C: 3, R: 3, S: 3, Y: 34, X: 34 }
        Dataflow { SpatialMap(1, 1) K; TemporalMap(Sz(R), 1) Y; … }
      }
    }

    file = read_mapping_file(text, "net.m")        whole-file mistakes raise here
    file.layers[0].checked().mapping               a layer's own mistakes raise here
    file.checked(chosen)                           the layers that --only keeps, or all mistakes in them at once

    write_mapping_file("net", [("conv1", mapping)])    the text of such a file

    words.py      words and their places
    numbers.py    integers and their range
    outline.py    Constants, networks, and the words of each layer
    body.py       a layer as it is written
    check.py      whether it makes a mapping
    read.py       from text to layers
    model.py      layers as frozen data
    write.py      from mappings to text
    build.py      the module of a mapping file
"""

from typing import TYPE_CHECKING

from npuc.compiler.core.registry import lazily

if TYPE_CHECKING:
    from npuc.frontends.maestro.build import MappingProgram, read_mapping_program
    from npuc.frontends.maestro.model import MappedLayer, MappingFile, WrongLayer
    from npuc.frontends.maestro.read import clean_name, read_mapping_file
    from npuc.frontends.maestro.write import write_mapping_file

__all__ = [
    "MappedLayer",
    "MappingFile",
    "MappingProgram",
    "WrongLayer",
    "clean_name",
    "read_mapping_file",
    "read_mapping_program",
    "write_mapping_file",
]

__getattr__ = lazily(
    __name__,
    {
        "build": (
            "MappingProgram",
            "read_mapping_program",
        ),
        "model": (
            "MappedLayer",
            "MappingFile",
            "WrongLayer",
        ),
        "read": (
            "clean_name",
            "read_mapping_file",
        ),
        "write": ("write_mapping_file",),
    },
)
