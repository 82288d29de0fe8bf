"""McNemar's exact test on paired yes/no outcomes."""


def mcnemar_p(n_only_first: int, n_only_second: int) -> float:
    """Two-sided exact p of the null that a discordant pair is as likely to go either way, in [0, 1].

    n_only_first, n_only_second: pairs where only the first, only the second outcome is a yes. The pairs that agree
    carry no information. Without any discordant pair p is 1.
    """
    from scipy.stats import binomtest  # takes half a second to import

    fewer, n_discordant = min(n_only_first, n_only_second), n_only_first + n_only_second
    return float(binomtest(fewer, n_discordant).pvalue) if n_discordant else 1.0
