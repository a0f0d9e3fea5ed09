"""
One training iteration as steps over whole tensors, and what it costs under a software-managed cache.

    graph = read_graph(module)                        # layers and tensors of a forward graph
    iteration = iteration_of(graph, conventions)      # steps: forward, backward in reverse, update
    trace = trace_of(iteration)                       # every access and the one that follows it
    plan = residency(trace, capacities)               # which intervals stay in the cache, for many capacities at once
    timeline(trace, plan, machine)                    # prefetches, two clocks

The model is that of C.-Y. Tsai, "A Performance Analytical Model for DNN Training with Focus on Memory Subsystem"
(NTU, 2021): Belady replacement of whole tensors, look-ahead offload, latency-aware prefetch. It is in three parts that
depend one way: the plan knows nothing of the hardware but a capacity, the timeline changes no plan.
"""
