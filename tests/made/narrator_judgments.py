"""Judgments of the narrator study made up for tests, one at a time."""

from studies.narrator.judged_runs import Judgment
from studies.narrator.prompts import ME, NO, YES
from studies.narrator.records import NarratorFactors
from studies.narrator.replies import STATES


def judgment(perspective="neutral", *shares, task="blame", conversation="c1", **changes):
    """A judgment with these shares: of the attacker, of an innocent speaker, and of a third; in detection Yes, No.

    changes: fields of Judgment or NarratorFactors; "n" is the number of replies.
    """
    if task == "detection":
        options, target = (YES, NO), YES
    else:
        target = ME if perspective == "attacker" else "Att"
        options = (target, ME if perspective == "non_attacker" else "Bob", "Cat")
    factors = {
        "task": task,
        "visibility": "visible",
        "perspective": perspective,
        "narrator": {"neutral": "", "attacker": "att", "non_attacker": "bob"}[perspective],
        "option_order": "published",
        "target": target,
        "n_speakers": 3,
        "attacker_is_unseen": False,
    }
    n = changes.pop("n", 10)
    factors |= {key: changes.pop(key) for key in list(changes) if key in factors}
    shown = (*shares, *[0.0] * (len(options) - len(shares)))
    return Judgment(
        **{
            "judge": "made",
            "prompt_hash": f"{task} {perspective} {conversation} {factors['narrator']}",
            "conversation": conversation,
            "factors": NarratorFactors(**factors),
            "options": options,
            "shares": shown,
            "states": tuple({"chosen": sum(shown), "off_list": 1 - sum(shown)}.get(state, 0.0) for state in STATES),
            "n_replies": n,
            **changes,
        }
    )
