"""Published studies that npuc repeats, one package each."""
