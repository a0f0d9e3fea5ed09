"""Cost backends: `base` says what one is and finds them; each model has its folder."""

from npuc.compiler.core import former_names

former_names.install()
