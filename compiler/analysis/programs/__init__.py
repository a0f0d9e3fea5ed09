"""The cheapest program of several contractions, and resident tensors between them."""
