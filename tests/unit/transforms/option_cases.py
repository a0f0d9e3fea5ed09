"""
For every option of every pass a program in which it has an effect; programs and options beside which some have none.

`test_every_option` goes over the fields of the pass classes: a new option fails there until it has a case.
"""

from typing import NamedTuple

MLP = """\
network mlp(batch=8, hidden=24) {
  input  x: f32[batch, 20]
  labels y: i32[batch]
  h = relu(linear(x, hidden))
  logits = linear(h, 12)
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.1, momentum=0.9)
}
"""
WORDS = """\
network words(batch=8) {
  input  x: i32[batch]
  labels y: i32[batch]
  loss cross_entropy(linear(embedding(x, 16, 8), 4), y)
  optimizer sgd(lr=0.1)
}
"""
IMAGES = """\
network images(batch=2) {
  input  x: f32[batch, 3, 6, 6]
  labels y: i32[batch]
  loss cross_entropy(linear(flatten(conv2d(x, 4, 3)), 5), y)
  optimizer sgd(lr=0.1)
}
"""
SIBLINGS = """\
network siblings(batch=8) {
  input  x: f32[batch, 16]
  labels y: i32[batch]
  loss cross_entropy(linear(x, 12) + linear(x, 12), y)
}
"""
DEEP = MLP.replace("batch=8", "batch=64").replace("  logits", 3 * "  h = relu(linear(h, hidden))\n" + "  logits")
LARGE = """\
network large(batch=192) {
  input  x: f32[batch, 64]
  labels y: i32[batch]
  loss cross_entropy(linear(linear(linear(x, 64), 64), 64), y)
  optimizer adam(lr=0.1)
}
"""
SIXTEENS = """\
network sixteens(batch=16) {
  input  x: f32[batch, 16]
  labels y: i32[batch]
  loss cross_entropy(linear(x, 16), y)
  optimizer sgd(lr=0.1)
}
"""
WIDE = MLP.replace("batch=8", "batch=32").replace("12)", "48)")
CONTRACTIONS = """\
network contractions(batch=2) {
  input  x: f32[batch, 3, 4, 5]
  labels y: i32[batch]
  h = einsum("aebf,fdce->abcd", [x, param([5, 2, 3, 3])])
  g = einsum("abcd,edf->afebc", [h, param([2, 2, 3])])
  loss cross_entropy(linear(flatten(g), 5), y)
  optimizer sgd(lr=0.1)
}
"""
SMOOTH = """\
network smooth(batch=16) {
  input x: f32[batch, 16]
  input t: f32[batch, 16]
  h = gelu(linear(x, 16))
  g = gelu(linear(h, 16))
  loss mse(linear(g, 16), t)
  optimizer sgd(lr=0.1)
}
"""
IMAGE = """\
network image(batch=1) {
  input x: f32[batch, 1, 16, 16]
  h = relu(conv2d(x, 2, kernel=[3, 1], padding=[1, 1, 0, 0]))
  input t: f32[batch, 1, 16, 16]
  loss mse(conv2d(h, 1, kernel=[3, 1], padding=[1, 1, 0, 0]), t)
  optimizer sgd(lr=0.1)
}
"""
NORMS = MLP.replace("sgd(lr=0.1, momentum=0.9)", "lamb(lr=0.1)")
TARGET = "set-target{rows=4 cols=4 spm-bytes=%s clock-mhz=1000 gb-per-s=4 lanes=4 element-bytes=1%s}"
ENERGIES = " mac-pj=0.5 spm-pj-per-byte=1 dram-pj-per-byte=40"
NPU = "autodiff,lower-to-npu"
SCHEDULED = f"{NPU},schedule"
TILED = f'{NPU},tile{{steps="m:4,n:4,k:4"}}'


class Effect(NamedTuple):
    """An option with a value, and where it changes the program: other options beside it, and the passes before it."""

    given: str
    before: str = ""
    beside: str = ""
    instead: str = ""
    """What stands in place of the option in the other program, where the pass needs one."""
    network: str = MLP
    target: str = ENERGIES
    spm: int = 512


UNITS = '"a dense 2 8; b dense 3 8"'
EFFECTS = {
    "assign-units mode": Effect("mode=assign", NPU, f"units={UNITS}"),
    "assign-units objective": Effect("objective=energy", f"{TARGET % (4096, ENERGIES)},{NPU}", f"units={UNITS}"),
    "assign-units tiles": Effect("tiles=3", NPU, f"units={UNITS}"),
    "assign-units units": Effect(f"units={UNITS}", NPU, instead='units="a dense 2 8"'),
    "assign-units only": Effect("only=logits", NPU, f"units={UNITS}"),
    "contraction-form form": Effect("form=ttgt", NPU, instead="form=native", network=CONTRACTIONS),
    "contraction-form only": Effect("only=g", NPU, "form=native", network=CONTRACTIONS),
    "fuse-layers mapper": Effect("mapper=genetic", SCHEDULED, spm=4096),
    "fuse-layers budget-kib": Effect("budget-kib=1", SCHEDULED, spm=2048),
    "fuse-layers objective": Effect("objective=traffic", SCHEDULED),
    "fuse-layers rows": Effect("rows=recompute", SCHEDULED, network=IMAGE),
    "fuse-layers recompute": Effect("recompute=true", SCHEDULED, beside="objective=traffic", network=SMOOTH, spm=2048),
    "fuse-layers only": Effect('only="h*"', SCHEDULED, spm=2048),
    "fuse-vector what": Effect("what=updates", f"{NPU},schedule"),
    "bucket-gradients mib": Effect("mib=0", "parallelize{strategy=dp},autodiff", instead="mib=25"),
    "fuse-vector only": Effect("only=logits", f"{NPU},schedule"),
    "group-weights only": Effect("only=logits", f'{NPU},tile{{steps="m:4,n:4,k:4"}},rearrange{{order=m,n,k}}'),
    "gradient-noise sigma": Effect("sigma=0.5", "autodiff", instead="sigma=0.1"),
    "gradient-noise decay": Effect("decay=2", "autodiff", "sigma=0.1"),
    "gradient-noise only": Effect('only="logits*"', "autodiff", "sigma=0.1"),
    "gradient-noise seed": Effect("seed=2", "autodiff", "sigma=0.1"),
    "interleave mode": Effect("mode=zip", NPU),
    "interleave what": Effect("what=all", NPU, network=SIBLINGS),
    "interleave objective": Effect("objective=energy", NPU, "mode=best"),
    "interleave only": Effect("only=logits", NPU, network=DEEP),
    "interleave tolerance": Effect("tolerance=0.9", NPU, "mode=best", spm=2048),
    "keep tensors": Effect('tensors="W:1"', TILED, instead='tensors="W:0"'),
    "keep only": Effect("only=logits", TILED, 'tensors="W:1"'),
    "keep-resident what": Effect("what=pairs", SCHEDULED),
    "keep-resident objective": Effect("objective=energy", SCHEDULED),
    "keep-resident only": Effect("only=logits", SCHEDULED),
    "lower-to-npu conv": Effect("conv=im2col", network=IMAGES),
    "map mapping": Effect("mapping=rs", NPU, "num-pes=8", "mapping=kcp_ws"),
    "map form": Effect("form=directives", NPU, "mapping=kcp_ws num-pes=8"),
    "map num-pes": Effect("num-pes=8", NPU, "mapping=kcp_ws", "num-pes=16"),
    "map only": Effect("only=logits", NPU, "mapping=kcp_ws num-pes=8"),
    "nm-recipe pattern": Effect('pattern="1:4"', NPU, instead='pattern="2:4"'),
    "nm-recipe kind": Effect("kind=linear steps=9", NPU, 'pattern="2:4"'),
    "nm-recipe start": Effect("start=4", NPU, 'pattern="2:4" kind=linear steps=9'),
    "nm-recipe steps": Effect("steps=5", NPU, 'pattern="2:4" kind=linear', instead="steps=9"),
    "nm-recipe rate": Effect("rate=2.0", NPU, 'pattern="2:4" kind=exponential', instead="rate=1.0"),
    "nm-recipe transposable": Effect("transposable=true", NPU, 'pattern="2:4"', network=DEEP),
    "nm-recipe strength": Effect("strength=0.5", NPU, 'pattern="2:4"'),
    "nm-recipe only": Effect("only=logits", NPU, 'pattern="2:4"', network=DEEP),
    "parallelize strategy": Effect("strategy=mp"),
    "parallelize devices": Effect("devices=4"),
    "parallelize convention": Effect("convention=physical"),
    "parallelize objective": Effect("objective=memory", beside="strategy=joint"),
    "parallelize tables": Effect("tables=rows", beside="strategy=dp", network=WORDS),
    "parallelize zero": Effect("zero=true", beside="strategy=dp"),
    "parallelize memory-mib": Effect("memory-mib=0.05", beside="strategy=joint", network=LARGE),
    "parallelize mesh": Effect('mesh="2x2"'),
    "partition dim": Effect("dim=m", TILED, "parts=2", "dim=n"),
    "partition parts": Effect("parts=2", TILED, "dim=n", "parts=1"),
    "partition over": Effect("over=cores", TILED, "dim=m parts=2", target=f"{ENERGIES} cores=2"),
    "partition rule": Effect("rule=best", NPU, instead="dim=m parts=1"),
    "partition objective": Effect("objective=energy", NPU, "dim=m parts=2"),
    "partition only": Effect("only=logits", NPU, "rule=best"),
    "partition tolerance": Effect("tolerance=0.9", NPU, "dim=n parts=2"),
    "quantize to": Effect("to=fp8", NPU, instead="to=int8"),
    "quantize of": Effect("of=weights", NPU, "to=int8"),
    "quantize only": Effect("only=logits", NPU, "to=int8"),
    "quantize first": Effect("first=1", NPU, "to=int8"),
    "quantize end": Effect("end=1", NPU, "to=int8"),
    "quantize rounding": Effect("rounding=stochastic", NPU, "to=int8"),
    "quantize seed": Effect("seed=2", NPU, "to=int8"),
    "quantize steps": Effect("steps=9", NPU, "to=fast", network=SIXTEENS),
    "sparsify rules": Effect('rules="logits=0.5 blocks"', NPU, instead='rules="logits=0.25 blocks"'),
    "sparsify seed": Effect("seed=2", NPU, 'rules="weights=0.5 blocks uniform"'),
    "rearrange order": Effect("order=n,m,k", TILED, instead="order=k,m,n"),
    "rearrange rule": Effect("rule=best", f"{NPU},interleave{{mode=zip}}", instead="rule=published"),
    "rearrange orders": Effect("orders=all", f"{NPU},interleave", "rule=best objective=traffic", network=WIDE),
    "rearrange objective": Effect("objective=energy", NPU, "order=m,n,k"),
    "rearrange only": Effect("only=logits", TILED, "order=k,n,m"),
    "rearrange tolerance": Effect("tolerance=0.9", NPU, "order=m,n,k"),
    "predict-gradients phase": Effect("phase=gp"),
    "predict-gradients predictor": Effect("predictor=ideal", beside="phase=gp"),
    "predict-gradients pool": Effect("pool=2"),
    "predict-gradients features": Effect("features=2"),
    "predict-gradients outputs": Effect("outputs=99"),
    "predict-gradients lr": Effect("lr=0.5"),
    "predict-gradients only": Effect('only="logits*"'),
    "recompute policy": Effect("policy=none", "autodiff", network=DEEP),
    "recompute k": Effect("k=4", "autodiff", instead="k=3", network=DEEP),
    "recompute budget-mib": Effect("budget-mib=0.016", "autodiff", "policy=optimal", "budget-mib=1", network=DEEP),
    "recompute only": Effect("only=h", "autodiff", "k=3", network=DEEP),
    "schedule objective": Effect("objective=energy", NPU),
    "schedule only": Effect("only=logits", NPU),
    "schedule tolerance": Effect("tolerance=0.9", NPU),
    "shard-updates stage": Effect("stage=2", "parallelize{strategy=dp},autodiff"),
    "schedule-collectives chunks": Effect("chunks=4", "parallelize{strategy=dp},autodiff", instead="chunks=2"),
    "set-precision to": Effect("to=bf16", instead="to=f32"),
    "tile steps": Effect('steps="m:4,n:4,k:4"', NPU, instead='steps="m:2,n:4,k:4"'),
    "tile only": Effect("only=logits", NPU, 'steps="m:4,n:4,k:4"'),
}

NO_EFFECT = {
    "parallelize exact": "a proof, which needs a solver that may not be installed: tests/unit/parallel has it",
    "schedule-collectives policy": "orders of the levels of a network, which a file says: tests/unit/devices has it",
}
"""Options that change no program by their meaning."""

FACTS = {
    "rows": "8",
    "cols": "8",
    "spm-bytes": "1024",
    "levels": '"L2 4096 bytes 8.0 GB/s"',
    "clock-mhz": "500",
    "gb-per-s": "8",
    "lanes": "8",
    "dataflow": "ws",
    "fill": "per-fold",
    "drain": "full",
    "double-buffer": "false",
    "element-bytes": "2",
    "mac-pj": "1",
    "spm-pj-per-byte": "2",
    "dram-pj-per-byte": "3",
    "transpose": "explicit",
    "overlap": "pipe",
    "cores": "2",
    "multicast": "true",
    "reduction": "on-chip",
    "tile-m": "2",
    "accumulator-bits": "16",
    "mantissa-bits": "2",
    "skips": "both",
    "slice": "64",
    "balance": "true",
    "array-lanes": "8",
    "lookahead": "2",
    "edge-elements": "2",
    "policy": "lru",
    "ifmap-words": "12",
    "filter-words": "225",
    "psum-words": "24",
    "ifmap-port": "1",
    "filter-port": "1",
    "psum-port": "1",
    "num-pes": "16",
}
"""A value for each fact of the pass `set-target`, other than the one in `TARGET`."""

ROW_STATIONARY = (
    "set-target{rows=4 cols=4 spm-bytes=512 clock-mhz=1000 gb-per-s=4 lanes=4 dataflow=rs "
    "ifmap-words=24 filter-words=224 psum-words=12 ifmap-port=2 filter-port=2 psum-port=2}"
)
TOGETHER = "what shares an operand runs together already"
HAS_SCHEDULES = "no schedule is searched for contractions that have one"
NO_LAYER = "no contraction is of such a layer"
IDLE = {
    f"{SCHEDULED},contraction-form{{form=ttgt}}": "the contractions have schedules, residents or mappings, or run",
    f"{NPU},contraction-form{{form=ttgt}}": "no contraction has several dimensions for one of M, N, K",
    f"{NPU},contraction-form{{form=native}}": "no contraction reads or writes a transposed tensor that it could take",
    f"{NPU},contraction-form{{form=native only=fc9}}": f"only=fc9 has no effect: {NO_LAYER}",
    "contraction-form{form=native},lower-to-npu": "has no contractions yet: it comes after lower-to-npu",
    f"{SCHEDULED},schedule": "pass 'schedule' has nothing to do: all contractions have schedules",
    f"{SCHEDULED},schedule{{objective=energy only=logits}}": "all contractions of logits have schedules",
    f"{NPU},schedule{{only=fc9}}": f"pass 'schedule': only=fc9 has no effect: {NO_LAYER} (known: h.linear, logits)",
    f"{NPU},interleave{{only=fc9}}": f"pass 'interleave': only=fc9 has no effect: {NO_LAYER}",
    f"{SCHEDULED},fuse-vector{{only=fc9}}": f"pass 'fuse-vector': only=fc9 has no effect: {NO_LAYER}",
    f"{SCHEDULED},fuse-layers{{only=fc9}}": "pass 'fuse-layers': only=fc9 has no effect: no operation is of such",
    f'{SCHEDULED},fuse-layers{{only="h*"}}': "no group of layers improves the time within its room",
    f"{NPU},fuse-layers": "pass 'fuse-layers' leaves out the contractions: none has a schedule yet",
    f"{SCHEDULED},group-weights{{only=fc9}}": f"pass 'group-weights': only=fc9 has no effect: {NO_LAYER}",
    f"{SCHEDULED},keep-resident{{only=fc9}}": "pass 'keep-resident': only=fc9 has no effect: no operation is of such",
    "schedule-collectives{chunks=2}": "the program is of one device: it comes after parallelize",
    "parallelize{strategy=dp},autodiff,schedule-collectives": "one chunk of a collective is the whole",
    "autodiff,recompute{only=fc9}": "pass 'recompute': only=fc9 has no effect: no operation of the forward pass is",
    "autodiff,recompute{k=40}": "pass 'recompute{k=40}' has nothing to do: with these options nothing runs again",
    f"{NPU},interleave,interleave": f"pass 'interleave' has nothing to do: {TOGETHER}",
    f"{NPU},interleave{{mode=zip}},interleave{{mode=fused}}": TOGETHER,
    f"{NPU},interleave{{mode=best}},interleave{{mode=best}}": "pass 'interleave{mode=\"best\"}' has nothing to do",
    f"{SCHEDULED},interleave{{mode=best}}": "share an operand have schedules: it comes before schedule",
    f"{NPU},interleave{{what=siblings}}": "has nothing to do: no such contractions share an operand",
    f"{NPU},interleave{{objective=energy}}": "objective=energy has no effect: mode=fused searches schedules only",
    f"{NPU},interleave{{mode=zip tolerance=0}}": "tolerance=0.0 has no effect: mode=zip searches schedules only",
    f"{SCHEDULED},rearrange{{order=m,k objective=energy}}": f"objective=energy has no effect: {HAS_SCHEDULES}",
    f'{TILED},interleave,tile{{steps="m:4,n:4,k:4"}},rearrange{{rule=published tolerance=0}}': HAS_SCHEDULES,
    f"{NPU},rearrange{{rule=best}}": "no gradients of a product run together: it comes after interleave",
    f"{SCHEDULED},partition{{dim=m parts=1 over=cores}}": "over=cores has no effect: one part changes nothing",
    f"{TILED},partition{{dim=n parts=2 objective=energy}}": "objective=energy has no effect: the contractions have",
    f"{NPU},partition{{rule=best over=cores}}": "over=cores has no effect: the machine has one core",
    f'{NPU},keep{{tensors="W:0"}}': "contractions without a schedule keep one tile of every tensor",
    f"{NPU},map{{mapping=rs num-pes=8}},map{{mapping=kcp_ws num-pes=8}}": "all contractions have mappings",
    f"{NPU},lower-to-npu": "the program is lowered already",
    "lower-to-npu{conv=im2col}": "conv=im2col has no effect: there is no convolution",
    f"{NPU},fuse-vector,schedule": "pass 'fuse-vector' has nothing to do: no contraction has a schedule yet",
    f"{NPU},keep-resident": "pass 'keep-resident' leaves out the contractions: none has a schedule yet",
    f"{SCHEDULED},{ROW_STATIONARY},group-weights": "operands of a row-stationary array stay by its own rule",
    f"{NPU},group-weights": "pass 'group-weights' has nothing to do: no contraction has a schedule yet",
    "lower-to-npu,schedule,fuse-vector{what=updates}": "what=updates has no effect: the program has no such",
    "lower-to-npu,schedule,keep-resident{what=gradients}": "between no such operations a value may be resident",
    "schedule,lower-to-npu": "pass 'schedule' has nothing to do: the program has no contractions yet: it comes after",
    'tile{steps="m:4"},lower-to-npu': "has no contractions yet: it comes after lower-to-npu",
    'keep{tensors="W:1"},lower-to-npu': "has no contractions yet: it comes after lower-to-npu",
    "partition{rule=best},lower-to-npu": "has no contractions yet: it comes after lower-to-npu",
    "rearrange{rule=best},lower-to-npu": "has no contractions yet: it comes after lower-to-npu",
    "map{mapping=rs},lower-to-npu": "has no contractions yet: it comes after lower-to-npu",
    f"{SCHEDULED},fuse-vector,fuse-vector": "pass 'fuse-vector' changed nothing",
    f"{SCHEDULED},keep-resident,keep-resident": "pass 'keep-resident' changed nothing",
    f"{SCHEDULED},group-weights,group-weights": "pass 'group-weights' changed nothing",
    f"{NPU},interleave{{mode=zip}},rearrange{{rule=published}}": "pass 'rearrange{rule=\"published\"}' changed nothing",
    f'{TILED},tile{{steps="m:4,n:4,k:4"}}': "changed nothing",
    f'{TILED},keep{{tensors="W:0"}},keep{{tensors="W:0"}}': "changed nothing",
    f"{TILED},partition{{dim=m parts=1}}": "changed nothing",
    "autodiff,autodiff": "pass 'autodiff' changed nothing",
    "autodiff,recompute{policy=none}": "changed nothing",
    "autodiff,recompute{policy=optimal budget-mib=1}": "changed nothing",
    "set-precision{to=f32}": "pass 'set-precision{to=\"f32\"}' changed nothing",
    "autodiff,canonicalize,canonicalize": "pass 'canonicalize' changed nothing",
    "dce,cse": "pass 'cse' changed nothing",
    f"{TARGET % (512, ENERGIES)}": "changed nothing",
    f"{TILED},lower-tiles,lower-tiles": "pass 'lower-tiles' changed nothing",
    f"{TILED},lower-tiles,schedule": "the contractions are loops of tiles: it comes before lower-tiles",
}
"""Passes of a pipeline that have nothing to do for `MLP`, or options of theirs that have no effect, and the remark."""

REFUSED = {
    "contraction-form{form=gemm}": "form is 'gemm', expected native or ttgt",
    "rearrange{order=m,k orders=all}": "orders is 'all', which only rule=best takes",
    "rearrange{rule=published orders=all}": "orders is 'all', which only rule=best takes",
    "rearrange{rule=best order=m,k}": "expected either an order",
    "partition{rule=best dim=m}": "expected either a dimension and parts",
    "predict-gradients{phase=fp}": "phase is 'fp', expected bp or gp",
    "predict-gradients{predictor=none}": "predictor is 'none', expected real or ideal",
    "predict-gradients{predictor=ideal}": "phase is 'bp', expected gp with predictor=ideal",
    "predict-gradients{pool=0}": "pool is 0, expected at least 1",
    "predict-gradients{features=0}": "features is 0, expected at least 1",
    "predict-gradients{outputs=0}": "outputs is 0, expected at least 1",
    "predict-gradients{lr=0.0}": "lr is 0.0, expected more than 0",
    "recompute{policy=none only=h}": "only is 'h', expected none with policy=none",
    "recompute{policy=optimal budget-mib=1 k=2}": "k is 2, expected at least 1, with policy=every-k",
    "recompute{budget-mib=1}": "expected a budget_mib with policy=optimal",
    "recompute{policy=reversible k=2}": "k is 2, expected at least 1, with policy=every-k",
    "recompute{policy=reversible budget-mib=1}": "expected a budget_mib with policy=optimal, and with no other policy",
    "schedule-collectives{policy=ring}": "policy is 'ring', expected baseline, themis-fifo, themis-scf, exact",
    "schedule-collectives{policy=exact chunks=9}": "chunks is 9, expected 1 to 8 with policy=exact",
    "parallelize{strategy=dp exact=true}": "exact has no effect with strategy=dp, which has one plan",
    "parallelize{strategy=hypar memory-mib=1}": "memory_mib is 1, which has no effect with strategy=hypar",
    "parallelize{strategy=joint objective=memory memory-mib=1}": "which has no effect with objective=memory",
    'parallelize{devices=4 mesh="2x4"}': "expected those of the mesh",
}
"""Options that mean nothing together, and what the error says."""

QUIET = (
    f"{NPU},interleave{{mode=zip}},schedule",
    f"{NPU},interleave{{mode=best}},schedule,fuse-vector",
    f"{NPU},interleave{{mode=best what=all objective=energy}},schedule,keep-resident",
    f'{NPU},schedule{{only="h*"}},schedule',
    f"{NPU},interleave,partition{{rule=best}},group-weights,lower-tiles",
    "parallelize{devices=4},autodiff,lower-to-npu,schedule",
)
"""Pipelines that have no more than they need: no pass remarks anything."""
