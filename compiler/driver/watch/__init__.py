"""
What is told of passes while they run: the program after each, what changed, how long each took; and what is kept of a
defect, so that it can be seen again.
"""
