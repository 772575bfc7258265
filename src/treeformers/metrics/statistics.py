"""How far a figure can be trusted: exact binomial test and interval, permutation test, bootstrap, seeds."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from statistics import fmean, stdev
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["binomial_interval", "binomial_test", "bootstrap_interval", "permutation_test", "summarise"]

EXACT_PAIRS = 14
"""Pairs that differ, up to which all signs are tried; ten seeds are."""
ROUNDING = 1e-7
"""Outcomes whose probabilities differ by less, relatively, count as equally probable."""

Array = NDArray[np.float64]


def binomial_test(successes: int, chances: Sequence[float]) -> float:
    """The two-sided p-value of so many successes, exactly, when each trial has a chance of its own.

    The number of successes is the sum of independent trials, its distribution the convolution of theirs (the
    Poisson binomial one; with equal chances the binomial one). The p-value sums the outcomes that are not
    more probable than the one found, as `scipy.stats.binomtest` does.

    Args:
        successes: found.
        chances: of every trial, under the null hypothesis.

    Returns:
        From 0 to 1; what is below 1e-300 may come as 0.

    Raises:
        ValueError: no trials, a chance that is no probability, or more successes than trials.
    """
    if not chances or not all(0 <= chance <= 1 for chance in chances):
        raise ValueError("expected at least one chance, all from 0 to 1")
    if not 0 <= successes <= len(chances):
        raise ValueError(f"{successes} successes in {len(chances)} trials")
    from scipy.stats import binom

    distribution, first = np.ones(1), 0  # of the number of successes; entries below `first` are negligible
    for chance, count in sorted(Counter(chances).items()):
        distribution = np.convolve(distribution, binom.pmf(np.arange(count + 1), count, chance))
        kept = np.flatnonzero(distribution > 1e-300)
        first += int(kept[0])
        distribution = distribution[kept[0] : kept[-1] + 1]
    place = successes - first
    observed = distribution[place] if 0 <= place < len(distribution) else 0.0
    return float(min(1.0, distribution[distribution <= observed * (1 + ROUNDING)].sum()))


def binomial_interval(successes: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """The interval of Clopper and Pearson (1934) for a probability: exact, never too narrow.

    Args:
        successes: found.
        trials: independent ones, of equal probability.
        confidence: the share of such intervals that hold the probability, at least.

    Returns:
        Its ends, from 0 to 1.

    Raises:
        ValueError: no trials, or more successes than trials.
    """
    if not 0 <= successes <= trials or not trials:
        raise ValueError(f"{successes} successes in {trials} trials")
    from scipy.stats import beta

    tail = (1 - confidence) / 2
    low = beta.ppf(tail, successes, trials - successes + 1) if successes else 0.0
    high = beta.ppf(1 - tail, successes + 1, trials - successes) if successes < trials else 1.0
    return float(low), float(high)


def permutation_test(
    first: Sequence[float], second: Sequence[float], resamples: int = 10_000, seed: int = 0
) -> float:
    """The two-sided p-value that two paired samples have the same mean.

    If it made no difference which of a pair is which, every sign of every difference would be equally
    probable: the p-value is the share of sign assignments whose sum is as large as the one found. All are
    tried where at most 14 pairs differ; otherwise signs are drawn, and the assignment found counts as one of
    them.

    Args:
        first: one figure a pair, such as the scores of one system by sentence or by seed.
        second: the other figures, in the same order.
        resamples: assignments drawn.
        seed: of the draws.

    Raises:
        ValueError: no pairs, or not one figure each.
    """
    if not len(first) or len(first) != len(second):
        raise ValueError(f"{len(first)} and {len(second)} figures, expected pairs")
    differences = np.subtract(first, second, dtype=np.float64)
    differences = differences[differences != 0]
    found = abs(differences.sum()) - ROUNDING * abs(differences).sum()
    if len(differences) <= EXACT_PAIRS:
        signs = np.array(list(product((1.0, -1.0), repeat=len(differences))))
        return float((abs(signs @ differences) >= found).mean())
    chance = np.random.default_rng(seed)
    reached = sum(
        abs(differences @ chance.choice((1.0, -1.0), len(differences))) >= found for _ in range(resamples)
    )
    return float((1 + reached) / (1 + resamples))


def bootstrap_interval(
    groups: Sequence[ArrayLike],
    statistic: Callable[[Array], float],
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> tuple[float, float]:
    """The percentile interval of a figure when the observations are drawn anew, with replacement.

    Args:
        groups: the observations (n, ...) of each data set. Every one is drawn from by itself, and the figure
            is the mean over them; most often there is one.
        statistic: from observations drawn to the figure.
        confidence: share of the resamples between the ends.
        resamples: how often observations are drawn.
        seed: of the draws.

    Raises:
        ValueError: no data set, or one without observations.
    """
    arrays = [np.asarray(group, dtype=np.float64) for group in groups]
    if not arrays or not all(map(len, arrays)):
        raise ValueError("a bootstrap needs observations")
    chance = np.random.default_rng(seed)
    drawn = np.zeros(resamples)
    for array in arrays:
        for sample in range(resamples):
            drawn[sample] += statistic(array[chance.integers(len(array), size=len(array))]) / len(arrays)
    low, high = np.quantile(drawn, ((1 - confidence) / 2, (1 + confidence) / 2))
    return float(low), float(high)


def summarise(seeds: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """Mean and maximum over the seeds of every figure that is a number, and its standard deviation.

    The deviation is that of a sample (n - 1), as in the t-tests beside it; a single seed has none.
    """
    summary = {}
    for name in seeds[0]:
        found = [value for seed in seeds if isinstance(value := seed.get(name), float)]
        values = [value for value in found if math.isfinite(value)]
        if len(values) == len(seeds):
            summary[name] = {"mean": fmean(values), "max": max(values)}
            if len(values) > 1:
                summary[name]["sd"] = stdev(values)
    return summary
