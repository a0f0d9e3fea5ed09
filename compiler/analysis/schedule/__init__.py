"""Which schedule of a nest is best: the candidates, what each costs, the search."""
