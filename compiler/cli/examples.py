"""The examples in the help of each verb: what stands behind its name, and what it does."""

EXAMPLES = {
    "compile": (
        ("samples:resnet50 -b cycle", "what one training step costs on a systolic array"),
        ("model.pt2 -b cycle -b roofline --hw npu.toml", "a PyTorch model on two cost models side by side"),
        ("samples:bert_base --devices 16 --json -", "the step on 16 devices, for a program"),
    ),
    "diff": (
        ("samples:resnet18 -O0 -O3", "what the passes gain, layer by layer"),
        ("samples:resnet18 --set dram.gb_per_s=150 --set dram.gb_per_s=300", "two machines"),
        ("model.json samples:lenet --fail-slower 2", "in a script: 1 where the step takes over 2 % longer"),
    ),
    "explain": (
        ("samples:resnet50", "the costliest layers, what limits each, and what to change"),
        ("samples:resnet50 logits --plot logits.svg", "where the time of a layer goes, also as a picture"),
        ("samples:bert_base --devices 16", "what each layer's parallelism moves"),
    ),
    "run": (
        ("samples:lenet --steps 50 --plot loss.svg", "fifty steps on made data, and the loss as a picture"),
        ("samples:mlp --inputs batch.npz --outputs out.npz", "one step on your own batch, an array a name"),
        ("model.pt2 --inputs batch.npz", "a model with the weights of its file"),
    ),
    "check": (
        ("samples:mlp", "that each pass of -O3 keeps what the step computes"),
        ("samples:lenet -D batch=2 -O2", "the same at another size and level"),
        ("net.dsl --load my_pass.py -p my-pass,autodiff", "your own pass"),
    ),
    "import": (
        ("model.pt2 -o net.dsl", "a PyTorch model as text"),
        ("model.onnx -o net.dsl --loss mse", "an ONNX model, trained with another loss"),
        ("model.pt2", "on standard output"),
    ),
    "fmt": (
        ("net.dsl", "format a file in place"),
        ("--check nets/", "fail where a file of a folder is not formatted"),
        ("-", "standard input to standard output"),
    ),
    "lint": (
        ("net.dsl", "likely mistakes in a network"),
        ("samples:lenet -D batch=1", "in a sample, at another size"),
        ("net.dsl --json -", "for an editor"),
    ),
    "opt": (
        ("samples:mlp -D batch=4 -p autodiff,lower-to-npu", "the IR after two passes"),
        ("samples:lenet -O3 --hw igo-small -o step.mlir", "what npuc compile scores, for npuc compile"),
        ("model.mlir -p cse --print-changed diff", "what a pass changes in a file"),
    ),
    "reuse": (
        ("samples:resnet50", "the traffic that each scope of reuse saves"),
        ("samples:resnet50 --set memory.cache_mib=24", "under a smaller cache"),
        ("samples:gpt2 -D batch=1 --csv reuse.csv", "as a table for programs"),
    ),
    "sweep": (
        ("samples:mlp --vary memory.spm_kib=256,1024", "two machines"),
        ("samples:resnet18 --vary batch=1,8 --vary array.rows=32,64,128", "all combinations"),
        ("samples:mlp --vary dram.gb_per_s=50:200:50 --csv points.csv", "a range, as a table for programs"),
    ),
    "optimize": (
        (
            "samples:mlp --vary memory.spm_kib=256,1024 --vary array.rows=32,64 --goals time,memory",
            "the points that none beats in both goals",
        ),
        (
            "samples:mlp --vary array.rows=8:64:8 --set technology.node_nm=28 --goals time,area "
            '--constraint "area < 40"',
            "small and fast machines",
        ),
        ("samples:lenet --vary dram.gb_per_s=50:200:50 --goals time,max:utilization", "most of a metric"),
    ),
    "plot": (
        ("sweep.json -o front.svg --x time --y energy", "a sweep's Pareto front"),
        ("sweep.json -o heat.png --x array.rows --y batch --color time", "a heat map"),
        ("report.json -o layers.pdf", "where a step's time goes"),
    ),
    "map": (
        ("samples:lenet", "the best mapping of every contraction"),
        ("samples:lenet --objective edp --budget 1000", "for the product of energy and delay, sooner"),
        ("samples:lenet -o mapped.mlir", "the program with its mappings, for npuc compile -b maestro"),
    ),
    "design": (
        ("samples:lenet --area-mm2 0.2 --budget 5000", "a machine of 0.2 mm2, with its mappings"),
        ("samples:lenet --area-mm2 1 --goals time,area --budget 5000 --csv front.csv", "small and fast machines"),
        (
            "samples:lenet --power-w 0.5 --set technology.node_nm=28 --budget 5000 -o machine.toml",
            "half a watt at 28 nm",
        ),
    ),
    "flexibility": (
        ("samples:lenet --hw nvdla", "its class, its flexion, and the gain of each class"),
        ("samples:lenet --set flexibility.order=any --budget 100", "a machine with any order of loops, sooner"),
        ("samples:lenet --samples 10000 --csv rows.csv", "tiles by samples, as a table for programs"),
    ),
    "network": (
        ("samples:mlp --hw hypar16 --devices 16 --total-gb-per-s 4", "the best bandwidth of each level"),
        ("samples:mlp --hw hypar16 --devices 16 --total-gb-per-s 4 --constraint b1>=2*b4", "within a limit"),
        ("samples:mlp --hw hypar16 --devices 16 --total-gb-per-s 4 --shapes", "and that of networks of other sizes"),
    ),
    "training": (
        ("samples:resnet50 --phases large-batch", "90 epochs of ImageNet in three phases"),
        ("samples:resnet50 --phases large-batch --phases bf16-then-f32 --plot trainings.svg", "two trainings compared"),
        ("samples:resnet50 --phases phases.toml --json -", "your own phases, for a program"),
    ),
    "study": (
        ("crosscheck --preset os", "our own models against each other"),
        ("hypar --network lenet_c", "HyPar's plans on one of its networks"),
        ("igo --json igo.json", "interleaved gradients on nine networks, for a program"),
    ),
    "reproduce": (
        ("themis themis", "a study with its figures, rows and commands in the folder themis"),
        ("hypar plans --preset physical", "under other assumptions"),
        ("all studies --jobs 2", "every study, in a folder each; takes a quarter of an hour or more"),
    ),
    "machine": (
        ("tpu-v4", "a preset as each backend sees it, with the source of each number"),
        ("h100 --set dram.gb_per_s=50 --json -", "another bandwidth, for a program"),
        ("gemmini --plot gemmini.svg", "its rooflines as a picture"),
    ),
    "cache": (
        ("--json -", "where results are kept, how many, and how often one was found, for a program"),
        ("--cache-dir .npuc-cache", "the same of another folder"),
        ("--cache-dir .npuc-cache --clear", "remove its results"),
    ),
    "list": (
        ("samples", "the networks that ship with npuc"),
        ("hardware", "the machines"),
        ("passes --load my_pass.py", "the passes, yours among them"),
    ),
    "new": (
        ("pass merge-scalings", "a repository for a pass of that name"),
        ("pass merge-scalings -o ~/passes", "elsewhere"),
        ("pass merge-scalings -q", "without a word"),
    ),
}
