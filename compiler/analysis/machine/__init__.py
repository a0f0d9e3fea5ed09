"""A machine as schedules and costs see it, and what its array does with tiles."""
