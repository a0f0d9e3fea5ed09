"""npuc's dialects and passes as xDSL's own tools discover them (entry point group `xdsl.universe`)."""

from xdsl.transforms import get_all_passes as get_upstream_passes
from xdsl.universe import Universe

from npuc.compiler.transforms import get_all_passes
from npuc.dialects import get_all_dialects

# xDSL refuses names of its own: its tools have its `canonicalize`, `npuc opt` has npuc's, which begins with that.
_OWN = {name: factory for name, factory in get_all_passes().items() if name not in get_upstream_passes()}

UNIVERSE = Universe(all_dialects=get_all_dialects(), all_passes=_OWN)
