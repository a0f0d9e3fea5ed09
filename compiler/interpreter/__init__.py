"""Runs every level of the IR on numpy."""
