"""The roofline study of training iterations under a cache: four networks, capacities 24 to 1000 MB (Tsai, 2021)."""
