"""Which program of several contractions is cheapest, and what stays in SPM between them."""
