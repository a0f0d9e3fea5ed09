# Rotary position embedding of x […, length, size] (Su et al., 2021): pair i of the row at position p is turned by the
# angle p / base^(2i / size). A pair is the elements i and i + size / 2, with `interleaved` 2i and 2i + 1. The first
# row has position `offset`.
block rotary_embedding(x, base=10000.0, interleaved=false, offset=0) {
  rank = len(shape(x))
  if rank < 2 { error "found ", x, ", expected […, length, size]" }
  if not _is_real(x) { error "found ", x, ", expected floating point" }
  length, size = [shape(x)[-2], shape(x)[-1]]
  if size % 2 != 0 { error "found ", x, ", expected an even size of the last axis" }
  if base <= 0 { error "found ", base, ", expected a positive number" }
  if type(offset) != "integer" { error "found ", offset, ", expected an integer" }
  precise = "f64" if type(x) == "f64" else "f32"
  position = reshape(arange(offset + length, offset, dtype=precise), [length, 1])
  frequency = exp(arange(size // 2, dtype=precise) * (-2 * log(base) / size))
  angle = position * frequency
  cosine = cos(angle)
  sine = sin(angle)
  if precise != type(x) {
    rounded_cosine = cast(cosine, to=type(x))
    rounded_sine = cast(sine, to=type(x))
    cosine, sine = [rounded_cosine, rounded_sine]
  }
  parts = unbind(reshape(x, [-1, length, size // 2, 2]), 3) if interleaved else split(x, size // 2, -1)
  first, second = parts
  first_cosine = first * cosine
  first_sine = first * sine
  second_cosine = second * cosine
  second_sine = second * sine
  turned = [first_cosine - second_sine, second_cosine + first_sine]
  return reshape(stack(turned, 3), shape(x)) if interleaved else concat(turned, -1)
}
