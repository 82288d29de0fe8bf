"""Which definition the narrator paper's Table 4 has: judges with the detection and the accuracy of Table 3, simulated.

`python -m bench.simulated_definitions` prints by how much each definition's intervals are wider than the printed ones.

A model's conversations have a probability of Yes and one of the attacker, each beta-distributed: its mean is the
printed M, its spread what the printed width of its interval asks for with ten replies (gpt-4.1-mini has one reply, of
which no spread can be told: 0.9 of the largest). They are joined by a Gaussian copula, whose correlation is what the
printed differences between the two rows ask for: none with the attack hidden, 0.28 with it visible. The non-attacker
rows are left out: how variants of a conversation depend on each other is not printed.

Found: "reply" fits the widths of all 16 cells within 0.1 of a point, rounding and simulation included; by the majority
of a prompt intervals come out up to 0.8 wider, weighted by the share of replies up to 0.4.
"""

import math

import numpy as np
from scipy.special import ndtr
from scipy.stats import beta

from studies.narrator.measures import conditioned
from studies.narrator.options import NarratorOptions
from tests.made.narrator_judgments import judgment
from tests.made.paper_figures import golden

QWEN, GPT, LLAMA, MISTRAL = MODELS = ("Qwen2.5-7B", "gpt-4.1-mini", "Llama-3.1-8B", "Mistral-7B")
N_REPLIES = {QWEN: 10, GPT: 1, LLAMA: 10, MISTRAL: 10}
N_CONVERSATIONS = 2094
CORRELATION = {"hidden": 0.0, "visible": 0.28}
PART = 4  # only this part of the conversations is simulated one by one
CELLS = [(t, v, p) for t in ("blame", "identification") for v in ("hidden", "visible") for p in ("neutral", "attacker")]
TABLE_3 = {(row["task"], row["model"], row["visibility"]): row for row in golden("narrator_table3.csv")}
TABLE_4 = {(row["perspective"], row["is_detected"] == "yes"): row for row in golden("narrator_table4.csv")}
SEED = 7


def probabilities(task, visibility, model, perspective, normal):
    """A probability for each conversation, with the printed mean and spread; normal: its standard normal deviates."""
    row = TABLE_3[task, model, visibility]
    mean, half = float(row[perspective]) / 100, float(row[f"{perspective}_half"]) / 100
    largest, n = mean * (1 - mean), N_REPLIES[model]
    of_shares = (half / 1.96) ** 2 * N_CONVERSATIONS / largest  # their variance, spread + (1 - spread) / n
    spread = 0.9 if n == 1 else min((of_shares - 1 / n) / (1 - 1 / n), 0.98)
    size = 1 / spread - 1
    return beta.ppf(ndtr(normal), mean * size, (1 - mean) * size)


def counts(task, visibility, perspective, model, n):
    """What a model replies to n conversations."""
    rng = np.random.default_rng([SEED, MODELS.index(model), CELLS.index((task, visibility, perspective))])
    r = CORRELATION[visibility]
    normal = rng.multivariate_normal([0, 0], [[1, r], [r, 1]], n).T
    says = probabilities("detection", visibility, model, perspective, normal[0])
    right = probabilities(task, visibility, model, perspective, normal[1])
    return rng.binomial(N_REPLIES[model], says), rng.binomial(N_REPLIES[model], right)


def judged(task, visibility, perspective, model):
    """The same as judgments of detection and of the task."""
    replies = counts(task, visibility, perspective, model, N_CONVERSATIONS // PART)
    of = {"judge": model, "visibility": visibility, "n": N_REPLIES[model]}
    for i, (k_yes, k_right) in enumerate(np.column_stack(replies) / N_REPLIES[model]):
        yield judgment(perspective, k_yes, 1 - k_yes, task="detection", conversation=f"c/{i}", **of)
        yield judgment(perspective, k_right, 1 - k_right, task=task, conversation=f"c/{i}", **of)


def widths(detection):
    """Half the interval of each cell less the printed one, in points."""
    found = {}
    for task, visibility, perspective in CELLS:
        judgments = [one for model in MODELS for one in judged(task, visibility, perspective, model)]
        for setting, row in conditioned(judgments, NarratorOptions(detection=detection)):
            if setting["perspective"] == perspective:
                printed = float(TABLE_4[perspective, setting["is_detected"]][f"{task}_{visibility}_half"])
                off = row["m"].half / math.sqrt(PART) - printed
                found[task, visibility, perspective, setting["is_detected"]] = off
    return found


def main():
    """Print, of each definition, how many of the 16 cells are off by more than 0.1 of a point, and the widest."""
    for detection in ("reply", "share", "majority"):
        off = widths(detection).values()
        print(f"{detection}: {sum(abs(of_cell) > 0.1 for of_cell in off)} of {len(off)}, at most {max(off):+.2f}")


if __name__ == "__main__":
    main()
