"""Emitters: the forms in which `-o` writes a program, one per file, found by name or from outside (see `base`)."""
