# The embeddings and the encoder of BERT (Devlin et al., 2019)
#
# Parts of the samples bert_base and bert_large. `joint` makes queries, keys and values by one product.
block embeddings(tokens, segments, positions, vocabulary, max_length, width, dropout) {
  word = embedding(tokens, vocabulary, width)
  segment = embedding(segments, 2, width)
  position = embedding(positions, max_length, width)
  norm = layer_norm(word + segment + position, eps=1e-12)
  return dropout(norm, dropout)
}

block encoder_layer(x, heads, hidden, dropout, joint) {
  attention = multi_head_attention(x, heads, dropout=dropout, joint=joint)
  norm1 = layer_norm(x + dropout(attention, dropout), eps=1e-12)
  fc1 = linear(norm1, hidden)
  fc2 = linear(gelu(fc1), shape(x)[2])
  norm2 = layer_norm(norm1 + dropout(fc2, dropout), eps=1e-12)
  return norm2
}

block encoder_stack(x, layers, heads, hidden, dropout, joint) {
  for i in 0..layers { x = encoder_layer(x, heads, hidden, dropout, joint) }
  return x
}
