"""Optimisation without IR: linear and integer programs, choices on graphs."""
