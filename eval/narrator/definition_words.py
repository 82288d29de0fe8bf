"""What the paper leaves open in words, as it was decided: for the notes of tables, and the report's method section."""

from eval.narrator.definitions import Definitions

CLUSTER_WORDS = {"conversation_model": "conversation × model", "conversation": "conversation"}
ANSWER_WORDS = {
    "most": "the option that most of its replies name",
    "half": "right where more than half of its replies are, tied at exactly half",
}


def shares_note(d: Definitions) -> str:
    """What shares are of."""
    counted = "the replies that name an option" if d.denominator == "answered" else "all replies"
    return f"Shares are of {counted}."


def interval_note(d: Definitions, *, is_pooled: bool = False) -> str:
    """How means and their intervals are taken; is_pooled: over several models."""
    weights = f" {weights_note(d)}" if is_pooled else ""
    return (
        "Percent ± half the 95 % interval, or [low, high] where that is not symmetric, cluster-robust over "
        f"{CLUSTER_WORDS[d.clusters]}; Δ and PR in percentage points, paired within clusters. Non-attacker variants "
        f"are averaged within a conversation.{weights} {shares_note(d)}"
    )


def weights_note(d: Definitions) -> str:
    """What counts one in means over several models."""
    one = "every reply" if d.weights == "samples" else "each conversation of each model"
    return f"In means over models {one} counts once."


def answer_note(d: Definitions) -> str:
    """Which answer is a prompt's one answer, and what is done without one."""
    ties = "left out" if d.ties == "excluded" else "counted as incorrect"
    counted = "those that name an option" if d.denominator == "answered" else "all"
    of = f" (of {counted})" if d.majority == "half" else ""
    return f"A prompt's one answer is {ANSWER_WORDS[d.majority]}{of}; pairs with a tie or without an answer are {ties}."


def changes_note(d: Definitions) -> str:
    """What changes are of: whatever the levels' clusters, they are paired by conversation."""
    return f"{shares_note(d)} {answer_note(d)}"


def detection_words(d: Definitions) -> str:
    """What Table 4 goes by."""
    by = {
        "reply": "by the replies to the detection (any Yes, any No; in both rows where they are mixed; exact runs by "
        "their shares)",
        "share": "by the share of Yes and of No in the detection",
        "majority": "by the one answer to the detection",
    }
    return f"Table 4 goes {by[d.detection]} of the same {d.detected_by}"


def definition_words(d: Definitions) -> str:
    """All of it, for the method section."""
    return (
        f"What the paper leaves open is decided thus: {interval_note(d, is_pooled=True)} FAR counts every non-attacker "
        f"variant. {answer_note(d)} {detection_words(d)}; sizes with fewer than {d.fewest_conversations} conversations "
        "leave Figure 3."
    )
