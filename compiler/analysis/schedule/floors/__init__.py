"""What schedules take at least, in closed form, so that a search times few of them tile by tile."""
