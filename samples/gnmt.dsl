# GNMT: translation by LSTM layers with attention (Wu et al., 2016)
#
# Wu et al., "Google's Neural Machine Translation System", arXiv:1609.08144, with the sizes and choices of a roofline
# study of training (C.-Y. Tsai, NTU, 2021): 4 layers; the encoder's first in both directions, outputs added; residual
# connections from the third on; a linear layer a gate; attention by dot products, its context for the decoder's layers
# but the first; no biases, embeddings or vocabulary. Adam has the paper's rate. 90,177,536 parameters, 4.514 GMAC a
# pair of sequences of 50. Layers are those of the study's reference data: first steps with all gates at full width,
# forgetting for nothing; no residual in encoder layer 3; contexts sum keys. `variant="standard"` is without all that.

# The weights of a layer: a matrix for each gate, of rows for the inputs, then for the state.
block gates(inputs, hidden) {
  input = param([(inputs + 1) * hidden, hidden])
  forget = param([(inputs + 1) * hidden, hidden])
  candidate = param([(inputs + 1) * hidden, hidden])
  output = param([(inputs + 1) * hidden, hidden])
  return [input, forget, candidate, output]
}

# One step of a layer: the new h and c; before the first they are none. Layers that nothing needs are removed.
block cell(inputs, h, c, weights, variant) {
  state = zeros(shape(inputs[0])) if h == none and variant == "prototype" else h
  parts = inputs if state == none else inputs + [state]
  joined = parts[0] if len(parts) == 1 else concat(parts, 1)
  rows, all_rows, hidden, used = [shape(joined)[1]] + shape(weights[0]) + [[]]
  for w in weights { used = used + [w if rows == all_rows else split(w, [rows, hidden], 0)[0]] }
  input = linear(joined, bias=false, weight=used[0])
  forget = linear(joined, bias=false, weight=used[1])
  candidate = linear(joined, bias=false, weight=used[2])
  output = linear(joined, bias=false, weight=used[3])
  input_gate = sigmoid(input)
  forget_gate = sigmoid(forget)
  new = tanh(candidate)
  output_gate = sigmoid(output)
  added = input_gate * new
  if c != none { kept = forget_gate * c }
  if h == none and state != none { forgotten = split(concat([added, forget_gate], 1), hidden, 1) }  # keeps the gate
  c = added + kept if c != none else added if state == none else forgotten[0]
  h = output_gate * tanh(c)
  return h, c
}

block attention(h, weight, keys, values) {
  query = linear(h, bias=false, weight=weight)
  scores = matmul(unsqueeze(query, 1), keys, transpose_b=true)
  sum = matmul(softmax(scores), values)
  return squeeze(sum, 1)
}

# The outputs of a stack of layers, a list; with `keys` the output of the first layer asks for a context.
block unroll(steps, layers, hidden, residual, variant, keys=none, values=none) {
  weights, states, outputs, h = [[], [], [], none]
  if keys != none { query = param([hidden, hidden]) }
  for i in 0..layers {
    gates = gates(1 if i == 0 or keys == none else 2, hidden)
    weights, states = [weights + [gates], states + [[none, none]]]
  }
  for x in steps {
    before, states, context = [states, [], none]
    for i in 0..layers {
      h, c = cell([x] if context == none else [x, context], before[i][0], before[i][1], weights[i], variant)
      states = states + [[h, c]]
      x = h + x if i >= residual else h
      if i == 0 and keys != none { context = attention(h, query, keys, values) }
    }
    outputs = outputs + [x]
  }
  return outputs
}

block encoder(steps, layers, hidden, variant) {
  reverse, both = [[], []]
  for x in steps { reverse = [x] + reverse }
  forward = unroll(steps, 1, hidden, 1, variant)
  backward = unroll(reverse, 1, hidden, 1, variant)
  for t in 0..len(steps) { both = both + [forward[t] + backward[-1 - t]] }
  above = unroll(both, layers - 1, hidden, 2 if variant == "prototype" else 1, variant)
  return above
}

network gnmt(batch=32, length=50, hidden=1024, layers=4, variant="prototype") {
  input source: f32[batch, length, hidden]
  input target: f32[batch, length, hidden]
  input expected: f32[batch, length, hidden]
  if variant != "standard" and variant != "prototype" { error "variant is standard or prototype" }
  encoder = encoder(unbind(source, 1), layers, hidden, variant)
  memory = stack(encoder, 1)
  keys = linear(memory, hidden, bias=false)
  decoder = unroll(unbind(target, 1), layers, hidden, 2, variant, keys, keys if variant == "prototype" else memory)
  output = stack(decoder, 1)
  loss mse(output, expected)
  optimizer adam(lr=2e-4)
}
