"""Run directories of the narrator study from made judges: planned prompts, drawn or exact answers."""

import math
import random
from functools import partial

import yaml

from eval import results
from eval.options import Options
from evenhand.files import sha256_of, write_json
from studies.narrator.prompts import ME, narrator_prompts
from studies.narrator.records import Conversation, Turn
from tests.made.made_runs import answered


def made_conversations(sizes, *, unseen=0):
    """So many conversations of each number of speakers; in the first `unseen` the attacker says only the attack."""
    found = []
    for n_speakers, n in sizes.items():
        for i in range(n):
            names = {f"u{k}": f"Name{k}of{n_speakers}x{i}" for k in range(n_speakers)}
            order = random.Random(f"{n_speakers} {i}").sample(list(names), n_speakers)
            attacker = order[-1]
            spoken = order if len(found) >= unseen else order[:-1]
            turns = [Turn(speaker=speaker, text=f"words of {speaker}") for speaker in [*spoken, order[0], attacker]]
            key = f"{n_speakers}-{i}"
            found.append(Conversation(conversation_id=key, dataset="made", turns=tuple(turns), names=names))
    return found


def make_narrator_run(
    root, judge, conversations, *, name="made", model="owner/model", n=10, is_exact=False, seed=1, leave_out=0, **asked
):
    """A finished run; with is_exact of verdict "options". asked: tasks, visibilities, option_orders."""
    path = root / f"{name}-0000"
    prompts = [prompt for conversation in conversations for prompt in narrator_prompts(conversation, **asked)]
    n = 1 if is_exact else n
    config = {
        "name": name,
        "model": {"name": model},
        "narrator": {"corpus": {"dataset": "made"}},
        "verdict": "options" if is_exact else "answer",
        "sampling": {"n": n, "temperature": 0.7},
    }
    path.mkdir(parents=True)
    (path / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    facts = {"config_sha256": sha256_of(path / "config.yaml"), "item_set_hash": "made"}
    write_json(path / "provenance.json", facts)
    rng = random.Random(seed)
    return answered(path, prompts, lambda p: replies(p, judge(p), n, is_exact, rng), leave_out)


def results_of_runs(*paths, is_before_after=False, **options):
    """The results of some runs, as `evenhand compare` or `evenhand report --side-by-side` have them."""
    words = Options(verb="report", n_draws=1_000, seed=1, side_by_side=not is_before_after, study=options)
    return results.results_of_runs("narrator", paths, words)


def replies(prompt, odds, n, is_exact, rng):
    """The fields of a prompt's completions."""
    if is_exact:
        logs = {option: math.log(odds.get(option, 0) or 1e-26) for option in prompt.answer_space}
        return [{"text": max(logs, key=logs.get), "finish_reason": "stop", "answer_logprobs": logs}]
    texts = rng.choices(list(odds), weights=list(odds.values()), k=n)
    return [{"text": text, "finish_reason": "stop"} for text in texts]


def fair(prompt, right=0.6):
    """A judge that names the attacker with one probability, whoever is Me, and each other option alike."""
    factors = prompt.factors
    others = [option for option in prompt.answer_space if option != factors.target]
    return {factors.target: right} | {option: (1 - right) / len(others) for option in others}


def without_me(odds):
    """The same odds among the options that are not Me."""
    total = math.fsum(p for option, p in odds.items() if option != ME)
    return {option: p / total for option, p in odds.items() if option != ME}


def mixed(first, second, share):
    """The first odds with a probability, else the second."""
    return {o: share * first.get(o, 0.0) + (1 - share) * second.get(o, 0.0) for o in {**first, **second}}


def bent(towards, share, right=0.6):
    """With a probability it goes by other odds, made of its own, where Me is an option; else it is fair."""

    def judge(prompt):
        odds = fair(prompt, right)
        return mixed(towards(odds), odds, share) if ME in odds else odds

    return judge


protector = partial(bent, without_me)  # will not name Me, and is fair among the others
accuser = partial(bent, lambda odds: {ME: 1.0})  # names Me


def drawing_lots(prompt):
    """A judge that draws an option at random."""
    return {option: 1 / len(prompt.answer_space) for option in prompt.answer_space}


def eliminator(prompt):
    """A judge that strikes Me off the options and draws one of the others: no evidence enters its answer."""
    odds = drawing_lots(prompt)
    return without_me(odds) if ME in odds else odds
