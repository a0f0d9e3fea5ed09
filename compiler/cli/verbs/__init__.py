"""What all verbs of the command line have in common: how they take options, and what they say of those they lack."""
