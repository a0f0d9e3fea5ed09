# DLRM with the sizes of a workload file of the authors (github.com/astra-sim/libra, inputs/workload/DLRM.txt, MIT)
#
# The file has times and bytes of layers: at 60 TFLOPS and two bytes a number these are of 512 samples a device, of 64
# tables of 64 columns, and of these layers; 57,411,584 weights outside the tables. Here the tables are side by side in
# one, whose columns devices share, which moves what 64 tables move. How many rows they have the file does not say.
block mlp(x, widths) {
  for w in widths { x = relu(linear(x, w)) }
  return x
}

network dlrm(
  batch=512,
  dense=1600,
  rows=1048576,
  tables=64,
  size=64,
  bottom=[1024, 1024, 1024, 1024, 1024, 1024, 64],
  top=[2048, 2048, 2048, 2048, 2048, 2048, 2048, 2048, 2048, 2048, 2048],
) {
  input numbers: f32[batch, dense]
  input categories: i32[batch]
  input clicked: f32[batch, 1]

  bottom = mlp(numbers, bottom)
  features = embedding(categories, rows, tables * size)
  top = mlp(concat([bottom, features], axis=1), top)
  logits = linear(top, 1)
  loss binary_cross_entropy_with_logits(logits, clicked)
  optimizer sgd(lr=0.1)
}
