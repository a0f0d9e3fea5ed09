"""Studies that are published elsewhere and repeated here, one package each."""
