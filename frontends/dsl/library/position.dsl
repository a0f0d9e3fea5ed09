# Rotary position embedding of x […, length, size] (Su et al., 2021): pair i of the row at position p is turned by the
# angle p / base^(2i / size). A pair is the elements i and i + size / 2, with `interleaved` 2i and 2i + 1. The first
# row has position `offset`, and positions run along `axis`, -2 or -3. `scaling` is that of Llama 3.1 for a longer
# context, [factor, low, high, length]: frequencies of fewer than `low` turns in `length` positions are divided by
# `factor`, those of more than `high` stay, and between them the factor changes with the turns. `frequency` lists the
# angles between neighbours themselves, one for each pair.
block rotary_embedding(x, base=10000.0, interleaved=false, offset=0, scaling=none, frequency=none, axis=-2) {
  rank = len(shape(x))
  if axis != -2 and axis != -3 { error "found ", axis, ", expected -2 or -3" }
  if rank < -axis { error "found ", x, ", expected […, length, size]" }
  if not _is_real(x) { error "found ", x, ", expected floating point" }
  length, size = [shape(x)[axis], shape(x)[-1]]
  if size % 2 != 0 { error "found ", x, ", expected an even size of the last axis" }
  if base <= 0 { error "found ", base, ", expected a positive number" }
  if type(offset) != "integer" { error "found ", offset, ", expected an integer" }
  precise = "f64" if type(x) == "f64" else "f32"
  position = reshape(arange(offset + length, offset, dtype=precise), [length, 1] if axis == -2 else [length, 1, 1])
  if frequency == none {
    plain = exp(arange(size // 2, dtype=precise) * (-2 * log(base) / size))
    turns = plain if scaling == none else _scaled(plain, scaling)
  } else {
    if scaling != none { error "found ", scaling, ", expected none beside listed frequencies" }
    if type(frequency) != "list" or len(frequency) != size // 2 {
      error "found ", frequency, ", expected a list of ", size // 2, " numbers"
    }
    turns = tensor(frequency, dtype=precise)
  }
  angle = position * turns
  cosine = cos(angle)
  sine = sin(angle)
  if precise != type(x) {
    rounded_cosine = cast(cosine, to=type(x))
    rounded_sine = cast(sine, to=type(x))
    cosine, sine = [rounded_cosine, rounded_sine]
  }
  paired = [-1, length, size // 2, 2] if axis == -2 else [-1, length, shape(x)[-2], size // 2, 2]
  parts = unbind(reshape(x, paired), 1 - axis) if interleaved else split(x, size // 2, -1)
  first, second = parts
  first_cosine = first * cosine
  first_sine = first * sine
  second_cosine = second * cosine
  second_sine = second * sine
  turned = [first_cosine - second_sine, second_cosine + first_sine]
  return reshape(stack(turned, 1 - axis), shape(x)) if interleaved else concat(turned, -1)
}

# Frequencies for a longer context, as Llama 3.1 scales them by [factor, low, high, length].
block _scaled(frequency, scaling) {
  if type(scaling) != "list" or len(scaling) != 4 {
    error "found ", scaling, ", expected a list [factor, low, high, length]"
  }
  factor, low, high, length = scaling
  if factor <= 0 or low <= 0 or length <= 0 { error "found ", scaling, ", expected positive numbers" }
  if high <= low { error "found ", high, ", expected more than ", low }
  turns = frequency * (length / 6.283185307179586)
  kept = clip((turns - low) * (1.0 / (high - low)), 0.0, 1.0)
  return frequency * (kept * (1 - 1.0 / factor) + 1.0 / factor)
}
