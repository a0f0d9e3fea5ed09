"""
Observers of passes while they run: the program after each, its changes, the time of each pass, and the reproducer of a
defect.
"""
