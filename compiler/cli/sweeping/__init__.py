"""The points of `npuc sweep` while they are scored, and what is told of them."""
