"""The network language: text -> tokens -> syntax tree -> forward graph in the `train` dialect."""
