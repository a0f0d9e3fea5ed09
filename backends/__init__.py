"""Cost backends: `base` defines their interface, `registry` finds them, and each model has its folder."""

from importlib import import_module

from npuc.compiler.core import former_names

# The hardware keys come first: they read the file of keys of each backend, which imports the kinds of keys.
import_module("npuc.hardware.schema")
former_names.install()
