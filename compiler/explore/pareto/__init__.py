"""
Several goals at once: which points no other one beats (`front`), how much of the goals' space they cover
(`hypervolume`), and a search over the points of a discrete grid that keeps those that are good (`breeding`, `search`).

Every goal is a number that is to be small.
"""
