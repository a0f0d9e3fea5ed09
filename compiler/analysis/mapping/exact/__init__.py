"""The cost of a mapping with tiles of their real size: MAESTRO's machine without its approximations."""
