"""The learned mapper: what it sees of a problem, its network and its plan."""

from npuc.compiler.analysis.fusion.problem import FusionPlan, FusionProblem, Prices


def learned_plan(problem: FusionProblem, prices: Prices) -> FusionPlan:
    """
    The plan that the package's network proposes, with only the groups that pay off by exact prices.

    Raises `UsageError` where the network's weights are missing or broken.
    """
    from npuc.compiler.analysis.fusion.learned.mapper import proposed_plan  # numpy and the weights only when asked

    return proposed_plan(problem, prices)
