"""The grid of tilings of a nest: what loop orders, tiles and residency options cost at each of its positions."""
