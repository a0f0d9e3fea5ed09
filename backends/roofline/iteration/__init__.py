"""
One training iteration as steps over whole tensors, and its cost under a software-managed cache.

    graph = read_graph(module)                        # layers and tensors of a forward graph
    iteration = iteration_of(graph, conventions)      # steps: forward, backward in reverse, update
    trace = trace_of(iteration)                       # every access, linked to the next of the same tensor
    plan = belady_plan(trace, capacities)             # which tensors are cached between accesses, for many capacities
    timeline(trace, plan, machine)                    # prefetches, a clock for computation and one for the bus

The model is that of C.-Y. Tsai, "A Performance Analytical Model for DNN Training with Focus on Memory Subsystem"
(NTU, 2021): Belady replacement of whole tensors, look-ahead offload, latency-aware prefetch. Its three parts depend one
way: the plan knows only the capacity of the hardware, and the timeline changes no plan.
"""
