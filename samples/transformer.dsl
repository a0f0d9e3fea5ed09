# Transformer with encoder and decoder (Vaswani et al., 2017)
#
# "Attention Is All You Need", NeurIPS 2017, with the sizes of the big model of table 3; each sublayer is followed by
# its normalisation; dropout also on activations and attention weights. 176,357,376 parameters, 8.900 GMAC a pair of
# sequences of 50. Batch and length are those of a roofline study of training (C.-Y. Tsai, NTU, 2021), and so is that
# inputs and outputs are vectors of `width`: embeddings and the projection to a vocabulary are not part of it. Adam has
# the paper's constants and the largest rate of its schedule.
#
# `variant="thesis_fit"` is what a prototype of that study took to come near its figures, which says little of what the
# study ran: `width` in place of `hidden`, no biases, relu on queries, keys and values, and scores that are scaled and
# masked in layers of their own in all attention, where nothing is to be hidden too. 100,724,736 parameters, 5.125 GMAC.

block split_heads(x, heads) {
  batch, length, width = shape(x)
  return transpose(reshape(x, [batch, length, heads, width // heads]), [0, 2, 1, 3])
}

block relu_attention(x, memory, heads, causal, dropout) {
  width, n = [shape(x)[2], shape(memory)[1]]
  q = linear(x, width, bias=false)
  k = linear(memory, width, bias=false)
  v = linear(memory, width, bias=false)
  query = split_heads(relu(q), heads)
  key = split_heads(relu(k), heads)
  value = split_heads(relu(v), heads)
  scores = matmul(query, key, transpose_b=true)
  scaled = scores * (1 / sqrt(width // heads))
  masked = where(causal_mask(shape(x)[1], n, 0 if causal else n), scaled, -1e30)
  weights = dropout(softmax(masked), dropout)
  context = matmul(weights, value)
  merged = reshape(transpose(context, [0, 2, 1, 3]), shape(x))
  out = linear(merged, width, bias=false)
  return out
}

block feed_forward(x, hidden, dropout, fit) {
  fc1 = linear(x, shape(x)[2] if fit else hidden, bias=not fit)
  activation = dropout(relu(fc1), dropout)
  fc2 = linear(activation, shape(x)[2], bias=not fit)
  return fc2
}

block encoder_layer(x, heads, hidden, dropout, fit) {
  if fit { attention = relu_attention(x, x, heads, false, dropout) }
  if not fit { attention = multi_head_attention(x, heads, dropout=dropout) }
  norm1 = layer_norm(x + dropout(attention, dropout))
  feed_forward = feed_forward(norm1, hidden, dropout, fit)
  norm2 = layer_norm(norm1 + dropout(feed_forward, dropout))
  return norm2
}

block decoder_layer(x, memory, heads, hidden, dropout, fit) {
  if fit { self_attention = relu_attention(x, x, heads, true, dropout) }
  if not fit { self_attention = multi_head_attention(x, heads, causal=true, dropout=dropout) }
  norm1 = layer_norm(x + dropout(self_attention, dropout))
  if fit { cross_attention = relu_attention(norm1, memory, heads, false, dropout) }
  if not fit { cross_attention = multi_head_attention(norm1, heads, memory, dropout=dropout) }
  norm2 = layer_norm(norm1 + dropout(cross_attention, dropout))
  feed_forward = feed_forward(norm2, hidden, dropout, fit)
  norm3 = layer_norm(norm2 + dropout(feed_forward, dropout))
  return norm3
}

block encoder_stack(x, layers, heads, hidden, dropout, fit) {
  for i in 0..layers { x = encoder_layer(x, heads, hidden, dropout, fit) }
  return x
}

block decoder_stack(x, memory, layers, heads, hidden, dropout, fit) {
  for i in 0..layers { x = decoder_layer(x, memory, heads, hidden, dropout, fit) }
  return x
}

network transformer(
  batch=128, length=50, layers=6, width=1024, heads=16, hidden=4096, dropout=0.1, variant="standard"
) {
  input source: f32[batch, length, width]
  input target: f32[batch, length, width]
  input expected: f32[batch, length, width]
  if variant != "standard" and variant != "thesis_fit" { error "variant is standard or thesis_fit" }

  fit = variant == "thesis_fit"
  encoder = encoder_stack(source, layers, heads, hidden, dropout, fit)
  decoder = decoder_stack(target, encoder, layers, heads, hidden, dropout, fit)
  loss mse(decoder, expected)
  optimizer adam(lr=5e-4, beta1=0.9, beta2=0.98, eps=1e-9)
}
