"""Which shifts of a grid of judges × datasets are discoveries: q-values under a controlled false-discovery rate."""

from collections.abc import Sequence

from eval.estimates.significance import holm
from evenhand.errors import DataError


def q_values(p_values: Sequence[float]) -> list[float]:
    """The smallest false-discovery rate at which each p is a discovery, in [0, 1].

    By Benjamini and Hochberg (1995), which holds for independent tests and those that depend positively, as tests of
    similar judges on the same items do. Raises DataError for a p outside [0, 1].
    """
    from scipy.stats import false_discovery_control  # takes half a second to import

    wrong = [p for p in p_values if not 0 <= p <= 1]
    if wrong:
        raise DataError(f"{wrong[0]} is no p-value; q-values need numbers from 0 to 1")
    found: list[float] = false_discovery_control(p_values).tolist()
    return found


__all__ = ["holm", "q_values"]
