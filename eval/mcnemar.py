"""McNemar's exact test on paired yes/no outcomes."""


def mcnemar_p(n_only_first: int, n_only_second: int) -> float:
    """Two-sided exact p of the null that a discordant pair is as likely to go either way, in [0, 1].

    n_only_first, n_only_second: pairs where only the first, only the second outcome is a yes. The pairs that agree
    carry no information. Without any discordant pair p is 1. The p-value is twice the smaller binomial tail, at most 1.
    """
    n_discordant = n_only_first + n_only_second
    term = total = 1  # C(n, 0), in whole numbers, so that no tail is too small to be exact
    for i in range(min(n_only_first, n_only_second)):
        term = term * (n_discordant - i) // (i + 1)
        total += term
    return min(1.0, 2 * total / (1 << n_discordant))
