"""
Readers of source files: the network language, and npuc's own IR as text.

Every reader turns text into a module and raises `NpucError`s that name the place. Readers are loaded when they are used.
"""
