"""The page of the pictures: its width, and the plot between its margins."""

WIDTH, LEFT, RIGHT = 960, 64, 24
PLOT = WIDTH - LEFT - RIGHT
