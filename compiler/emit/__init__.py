"""What `-o` writes of a compiled program: an emitter a file, found by its name, or from outside (see `base`)."""
