# Transformer with encoder and decoder (Vaswani et al., 2017)
#
# "Attention Is All You Need", NeurIPS 2017, with the sizes of the big model of table 3; each sublayer is followed by
# its normalisation; dropout also on activations and attention weights. 176,357,376 parameters, 8.900 GMAC a pair of
# sequences of 50. Batch and length are those of a roofline study of training (C.-Y. Tsai, NTU, 2021), and so is that
# inputs and outputs are vectors of `width`: embeddings and the projection to a vocabulary are not part of it. Adam has
# the paper's constants and the largest rate of its schedule.

block feed_forward(x, hidden, dropout) {
  fc1 = linear(x, hidden)
  activation = dropout(relu(fc1), dropout)
  fc2 = linear(activation, shape(x)[2])
  return fc2
}

block encoder_layer(x, heads, hidden, dropout) {
  attention = multi_head_attention(x, heads, dropout=dropout)
  norm1 = layer_norm(x + dropout(attention, dropout))
  feed_forward = feed_forward(norm1, hidden, dropout)
  norm2 = layer_norm(norm1 + dropout(feed_forward, dropout))
  return norm2
}

block decoder_layer(x, memory, heads, hidden, dropout) {
  self_attention = multi_head_attention(x, heads, causal=true, dropout=dropout)
  norm1 = layer_norm(x + dropout(self_attention, dropout))
  cross_attention = multi_head_attention(norm1, heads, memory, dropout=dropout)
  norm2 = layer_norm(norm1 + dropout(cross_attention, dropout))
  feed_forward = feed_forward(norm2, hidden, dropout)
  norm3 = layer_norm(norm2 + dropout(feed_forward, dropout))
  return norm3
}

block encoder_stack(x, layers, heads, hidden, dropout) {
  for i in 0..layers { x = encoder_layer(x, heads, hidden, dropout) }
  return x
}

block decoder_stack(x, memory, layers, heads, hidden, dropout) {
  for i in 0..layers { x = decoder_layer(x, memory, heads, hidden, dropout) }
  return x
}

network transformer(batch=128, length=50, layers=6, width=1024, heads=16, hidden=4096, dropout=0.1) {
  input source: f32[batch, length, width]
  input target: f32[batch, length, width]
  input expected: f32[batch, length, width]

  encoder = encoder_stack(source, layers, heads, hidden, dropout)
  decoder = decoder_stack(target, encoder, layers, heads, hidden, dropout)
  loss mse(decoder, expected)
  optimizer adam(lr=5e-4, beta1=0.9, beta2=0.98, eps=1e-9)
}
