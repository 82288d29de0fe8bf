"""McNemar's exact test on paired yes/no outcomes."""

import math

EXACT_TERMS = 1000  # up to so many terms of the tail, it is summed in whole numbers
NEGLIGIBLE = 1e-17  # a term that changes no digit of the sum


def mcnemar_p(n_only_first: int, n_only_second: int) -> float:
    """Two-sided exact p of the null that a discordant pair is as likely to go either way, in [0, 1].

    n_only_first, n_only_second: pairs where only the first, only the second outcome is a yes. The pairs that agree
    carry no information. Without any discordant pair p is 1. The p-value is twice the smaller binomial tail, at most 1.
    """
    fewer, n_discordant = min(n_only_first, n_only_second), n_only_first + n_only_second
    tail = whole_tail if fewer <= EXACT_TERMS else float_tail
    return min(1.0, 2 * tail(fewer, n_discordant))


def whole_tail(k: int, n: int) -> float:
    """P(X <= k) for X binomial over n throws of a fair coin, in whole numbers, so that no tail is too small."""
    term = total = 1  # C(n, 0)
    for i in range(k):
        term = term * (n - i) // (i + 1)
        total += term
    return total / (1 << n)


def float_tail(k: int, n: int) -> float:
    """The same for 0 < k <= n / 2, correct to ten digits. Whole numbers of so many digits take time squared.

    The last term is by Stirling's series, as in Loader (2000), "Fast and accurate computation of binomial
    probabilities"; those before it follow by their ratios, and soon no longer count.
    """
    x = (n - 2 * k) / n
    distance = n / 2 * ((1 - x) * math.log1p(-x) + (1 + x) * math.log1p(x))
    correction = stirling_error(n) - stirling_error(k) - stirling_error(n - k)
    last = math.exp(correction - distance) * math.sqrt(n / (2 * math.pi * k * (n - k)))
    ratio = total = 1.0
    for i in range(k):
        ratio *= (k - i) / (n - k + 1 + i)
        total += ratio
        if ratio < NEGLIGIBLE * total:
            break
    return last * total


def stirling_error(n: int) -> float:
    """log(n!) - log(sqrt(2 pi n) (n / e)^n), for n > 100 to 17 digits."""
    return 1 / (12 * n) - 1 / (360 * n**3) + 1 / (1260 * n**5)
