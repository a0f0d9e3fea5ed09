"""npuc's dialects and passes as xDSL's own tools discover them (entry point group `xdsl.universe`)."""

from xdsl.universe import Universe

from npuc.compiler.transforms import get_all_passes
from npuc.dialects import get_all_dialects

UNIVERSE = Universe(all_dialects=get_all_dialects(), all_passes=get_all_passes())
