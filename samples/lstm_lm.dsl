# A language model of two LSTM layers (Zaremba et al., 2014)
#
# Zaremba, Sutskever, Vinyals, "Recurrent Neural Network Regularization", arXiv:1409.2329, section 4.1, the medium
# model for the Penn Treebank, unrolled over 35 steps. 19,780,400 parameters; `-D hidden=1500 -D dropout=0.65` is the
# large one of 66,034,000. As in PyTorch each layer has two vectors of biases. Every sequence starts from zero states.
network lstm_lm(batch=20, length=35, hidden=650, layers=2, vocabulary=10000, dropout=0.5) {
  input  tokens: i32[batch, length]
  labels y: i32[batch, length]

  words = dropout(embedding(tokens, vocabulary, hidden), dropout)
  lstm = lstm(words, hidden, layers=layers, dropout=dropout)
  logits = linear(dropout(lstm, dropout), vocabulary)
  loss cross_entropy(logits, y)
  optimizer sgd(lr=1.0)
}
