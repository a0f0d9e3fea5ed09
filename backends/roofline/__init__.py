"""
The backend `roofline`: a whole training iteration under a near-optimal software-managed cache.

The model, its sources and its limits are in docs/roofline.md.
"""
