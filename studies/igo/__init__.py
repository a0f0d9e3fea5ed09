"""The study of interleaved gradient order: nine networks, two NPUs (Kim et al., MICRO 2023)."""
