# One step of a tanh layer for x [batch, in] and the state h [batch, hidden]: the new h, tanh(x weight_ih + bias_ih +
# h weight_hh + bias_hh), or with `nonlinearity=relu` relu of it. The weights [in, hidden] and [hidden, hidden] are
# made unless they are given: those made by `param` are shared. With `transpose_weight` they are [hidden, in] and
# [hidden, hidden], gates first, as PyTorch keeps them.
block rnn_cell(
  x, h, weight_ih=none, weight_hh=none, bias_ih=none, bias_hh=none, bias=true, nonlinearity="tanh",
  transpose_weight=false
) {
  new_h, new_c = _cell(nonlinearity, x, h, none, weight_ih, weight_hh, bias_ih, bias_hh, bias, transpose_weight)
  return new_h
}

# One step of a long short-term memory for x [batch, in] and the states h and c [batch, hidden]: the new h, c. Weights
# as in rnn_cell, [in, 4 hidden] and [hidden, 4 hidden] for the gates input, forget, cell and output in this order.
block lstm_cell(
  x, h, c, weight_ih=none, weight_hh=none, bias_ih=none, bias_hh=none, bias=true, transpose_weight=false
) {
  return _cell("lstm", x, h, c, weight_ih, weight_hh, bias_ih, bias_hh, bias, transpose_weight)
}

# One step of a gated recurrent unit for x [batch, in] and the state h [batch, hidden]: the new h. Weights as in
# rnn_cell, [in, 3 hidden] and [hidden, 3 hidden] for reset, update and new; reset scales h weight_hh + bias_hh of the
# new state.
block gru_cell(x, h, weight_ih=none, weight_hh=none, bias_ih=none, bias_hh=none, bias=true, transpose_weight=false) {
  new_h, new_c = _cell("gru", x, h, none, weight_ih, weight_hh, bias_ih, bias_hh, bias, transpose_weight)
  return new_h
}

# Layers of rnn_cell over the steps of x [batch, length, in]: the states h of the last layer, [batch, length, hidden].
# `bidirectional` adds those of a second pass from the last step to the first, [batch, length, 2 hidden]. `dropout` is
# between layers. `h` are initial states [layers * directions, batch, hidden], by default 0; with `states` the final
# ones are a second value. `weight` shares weights: a list with [weight_ih, weight_hh] of each layer and direction, or
# [weight_ih, weight_hh, bias_ih, bias_hh]; `transpose_weight` as in rnn_cell.
block rnn(
  x, hidden, layers=1, bias=true, dropout=0.0, bidirectional=false, h=none, states=false, weight=none,
  nonlinearity="tanh", transpose_weight=false
) {
  output, last_h,
      last_c = _layers(nonlinearity, x, hidden, layers, bias, dropout, bidirectional, h, none, weight, transpose_weight)
  if states { return output, last_h }
  return output
}

# Layers of lstm_cell over the steps of x [batch, length, in]; arguments as in rnn. The states are two, `h` and `c`;
# with `states` the final ones are a second and a third value.
block lstm(
  x, hidden, layers=1, bias=true, dropout=0.0, bidirectional=false, h=none, c=none, states=false, weight=none,
  transpose_weight=false
) {
  output, last_h,
      last_c = _layers("lstm", x, hidden, layers, bias, dropout, bidirectional, h, c, weight, transpose_weight)
  if states { return output, last_h, last_c }
  return output
}

# Layers of gru_cell over the steps of x [batch, length, in]; arguments as in rnn.
block gru(
  x, hidden, layers=1, bias=true, dropout=0.0, bidirectional=false, h=none, states=false, weight=none,
  transpose_weight=false
) {
  output, last_h,
      last_c = _layers("gru", x, hidden, layers, bias, dropout, bidirectional, h, none, weight, transpose_weight)
  if states { return output, last_h }
  return output
}

# Layers of one kind: the outputs, the final h and the final c.
block _layers(kind, x, hidden, layers, bias, dropout, bidirectional, h, c, weight, transposed) {
  if len(shape(x)) != 3 { error "found ", x, ", expected [batch, length, features]" }
  if not _is_real(x) { error "found ", x, ", expected floating point" }
  batch = shape(x)[0]
  if type(hidden) != "integer" or hidden < 1 { error "found ", hidden, ", expected a positive integer" }
  if type(layers) != "integer" or layers < 1 { error "found ", layers, ", expected a positive integer" }
  if dropout < 0 or dropout >= 1 { error "found ", dropout, ", expected at least 0 and below 1" }
  directions = 2 if bidirectional else 1
  expected = [layers * directions, batch, hidden]
  if h != none and type(h) != type(x) { error "found ", h, ", expected the element type of x" }
  if h != none and shape(h) != expected { error "found ", h, ", expected ", expected }
  if c != none and type(c) != type(x) { error "found ", c, ", expected the element type of x" }
  if c != none and shape(c) != expected { error "found ", c, ", expected ", expected }
  if weight != none {
    if type(weight) != "list" { error "found ", weight, ", expected a list of lists" }
    if len(weight) != expected[0] { error "found ", len(weight), " lists, expected ", expected[0], ": ", weight }
    for one in weight {
      if type(one) != "list" { error "found ", weight, ", expected a list of weights for each layer and direction" }
      if len(one) != 2 and len(one) != 4 { error "found ", weight, ", expected 2 or 4 in each list" }
    }
  }
  if h == none or c == none { zero = zeros([batch, hidden], type(x)) }
  first_h = [] if h == none else unbind(h, 0)
  first_c = [] if c == none else unbind(c, 0)
  last_h, last_c = [[], []]
  forward = none
  for i in 0..layers {
    number = i * directions
    start = [zero if h == none else first_h[number], zero if c == none else first_c[number]]
    forward = _pass(kind, x, hidden, start, bias, none if weight == none else weight[number], transposed, false)
    output = forward[0]
    last_h = last_h + [forward[1]]
    last_c = last_c + [forward[2]]
    if bidirectional {
      number = number + 1
      start = [zero if h == none else first_h[number], zero if c == none else first_c[number]]
      reverse = _pass(kind, x, hidden, start, bias, none if weight == none else weight[number], transposed, true)
      both = concat([output, reverse[0]], 2)
      output = both
      last_h = last_h + [reverse[1]]
      last_c = last_c + [reverse[2]]
    }
    x = output
    if i + 1 < layers and dropout > 0 {
      dropped = dropout(output, dropout)
      x = dropped
    }
  }
  final_h = stack(last_h, 0)
  final_c = stack(last_c, 0)
  return x, final_h, final_c
}

# One layer in one direction: the list of outputs [batch, length, hidden], last h and last c.
block _pass(kind, x, hidden, start, bias, weight, transposed, backwards) {
  if weight == none { weight = [none, none] }
  if len(weight) == 2 { weight = weight + [none, none] }
  weight_ih, weight_hh, bias_ih,
      bias_hh = _weights(kind, x, hidden, weight[0], weight[1], weight[2], weight[3], bias, transposed)
  # one product for all steps
  inputs = linear(x, weight=weight_ih, bias=false, transpose_weight=transposed)
  if bias {
    biased = inputs + (bias_ih if kind == "gru" else bias_ih + bias_hh)
    inputs = biased
    if kind != "gru" { bias_hh = none }
  }
  steps = unbind(inputs, 1)
  h, c = start
  outputs = []
  for t in 0..len(steps) {
    h, c = _step(kind, steps[-1 - t if backwards else t], h, c, weight_hh, bias_hh, transposed)
    outputs = [h] + outputs if backwards else outputs + [h]
  }
  output = stack(outputs, 1)
  return [output, h, c]
}

# One step from given weights; x [batch, features].
block _cell(kind, x, h, c, weight_ih, weight_hh, bias_ih, bias_hh, bias, transposed) {
  if len(shape(x)) != 2 { error "found ", x, ", expected [batch, features]" }
  if not _is_real(x) { error "found ", x, ", expected floating point" }
  batch = shape(x)[0]
  if len(shape(h)) != 2 { error "found ", h, ", expected [batch, hidden]" }
  if type(h) != type(x) { error "found ", h, ", expected the element type of x" }
  if shape(h)[0] != batch { error "found ", h, ", expected a batch of ", batch }
  hidden = shape(h)[1]
  if c != none and type(c) != type(x) { error "found ", c, ", expected the element type of x" }
  if c != none and shape(c) != shape(h) { error "found ", c, ", expected the sizes of h, ", shape(h) }
  weight_ih, weight_hh, bias_ih,
      bias_hh = _weights(kind, x, hidden, weight_ih, weight_hh, bias_ih, bias_hh, bias, transposed)
  inputs = linear(x, weight=weight_ih, bias=false, transpose_weight=transposed)
  if bias {
    biased = inputs + bias_ih
    inputs = biased
  }
  return _step(kind, inputs, h, c, weight_hh, bias_hh, transposed)
}

# The new h and c; `inputs` are x weight_ih + bias_ih.
block _step(kind, inputs, h, c, weight_hh, bias_hh, transposed) {
  recurrent = linear(h, weight=weight_hh, bias=false, transpose_weight=transposed)
  if bias_hh != none {
    biased_recurrent = recurrent + bias_hh
    recurrent = biased_recurrent
  }
  hidden = shape(h)[1]
  if kind == "gru" {
    x_parts = split(inputs, hidden, 1)
    h_parts = split(recurrent, hidden, 1)
    reset = sigmoid(x_parts[0] + h_parts[0])
    update = sigmoid(x_parts[1] + h_parts[1])
    new = tanh(x_parts[2] + reset * h_parts[2])
    h = new + update * (h - new)
    return h, c
  }
  gates = inputs + recurrent
  if kind == "lstm" {
    parts = split(gates, hidden, 1)
    input_gate = sigmoid(parts[0])
    forget_gate = sigmoid(parts[1])
    cell = tanh(parts[2])
    output_gate = sigmoid(parts[3])
    kept = forget_gate * c
    c = kept + input_gate * cell
    h = output_gate * tanh(c)
    return h, c
  }
  h = tanh(gates) if kind == "tanh" else relu(gates)
  return h, c
}

# The four weights, made unless they are given; the biases are none without `bias`.
block _weights(kind, x, hidden, weight_ih, weight_hh, bias_ih, bias_hh, bias, transposed) {
  columns = hidden * _gate_count(kind)
  features = shape(x)[-1]
  bound = 1 / sqrt(hidden)
  sizes_ih = [columns, features] if transposed else [features, columns]
  sizes_hh = [columns, hidden] if transposed else [hidden, columns]
  if weight_ih == none { weight_ih = param(sizes_ih, type(x), bound=bound) }
  if shape(weight_ih) != sizes_ih { error "found ", weight_ih, " as weight_ih, expected ", sizes_ih }
  if weight_hh == none { weight_hh = param(sizes_hh, type(x), bound=bound) }
  if shape(weight_hh) != sizes_hh { error "found ", weight_hh, " as weight_hh, expected ", sizes_hh }
  if not bias { return weight_ih, weight_hh, none, none }
  if bias_ih == none { bias_ih = param([columns], type(x), bound=bound) }
  if shape(bias_ih) != [columns] {
    error "found ", bias_ih, " as bias_ih, expected ", [columns]
  }
  if bias_hh == none { bias_hh = param([columns], type(x), bound=bound) }
  if shape(bias_hh) != [columns] {
    error "found ", bias_hh, " as bias_hh, expected ", [columns]
  }
  return weight_ih, weight_hh, bias_ih, bias_hh
}

block _gate_count(kind) {
  if kind == "lstm" { return 4 }
  if kind == "gru" { return 3 }
  if kind != "tanh" and kind != "relu" { error "found ", kind, ", expected tanh or relu" }
  return 1
}
