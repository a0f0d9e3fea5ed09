"""Explanations of plans for many devices: the reports of `npuc explain --devices`."""
