"""Cost backends: `base` defines their interface, `registry` finds them, and each model has its folder."""

# The hardware keys come first: a backend's file of keys needs them, and they read all such files.
import npuc.hardware.schema  # noqa: F401
from npuc.compiler.core import former_names

former_names.install()
