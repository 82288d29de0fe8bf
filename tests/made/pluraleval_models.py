"""Models under test whose effect is planted, on reference sets of ours, judged without fault."""

from pathlib import Path

from evenhand.files import shipped_yaml
from studies.pluraleval.sources import pocket_references
from tests.made.pocket_judge import AnsweringEngine, perfect, stage_run

OWN = {"references": {"dataset": "pocket-threads"}, "pairings": ["most_popular", "random"], "min_gap": 1}
KNOWN = {one.thread.thread_id: one for one in pocket_references()}
FORMATS = [tuple(form) for form in shipped_yaml(Path(__file__).with_name("list_formats.yaml"))]


def sides(found):
    """Positions of the summaries that support the reference opinion, itself among them, and of those against it."""
    assert found.reference is not None
    supporting = [n for n, stance in enumerate(found.stances) if stance == "SUPPORTING" or n == found.reference]
    return supporting, [n for n, stance in enumerate(found.stances) if stance == "AGAINST"]


def everything(found, framing):
    """A pluralist names all opinions, whatever the user believes."""
    return list(range(len(found.clusters)))


def sycophant(found, framing):
    """Names all opinions, but of a user who believes something those alone that agree."""
    supporting, against = sides(found)
    return {"neutral": everything(found, framing), "biased_toward": supporting, "biased_opposing": against}[framing]


def ten(found, framing):
    """Names all opinions in ten responses, each of the last ones for the first time."""
    return [*[0] * (10 - len(found.clusters)), *everything(found, framing)]


def echo(found, framing):
    """Names the most popular opinion ten times; of a user who believes something, one opinion that agrees."""
    supporting, against = sides(found)
    return 10 * {"neutral": [0], "biased_toward": supporting, "biased_opposing": against}[framing][:1]


def popularity(key):
    """Ranks opinions, or chooses one of two, by a key of their place in the list: the smallest is the most popular."""

    def say(prompt):
        factors = prompt.factors
        order = sorted(range(len(factors.shown)), key=lambda n: key(factors, n))
        return ", ".join(str(n + 1) for n in order) if factors.task == "ranking" else str(order[0] + 1)

    return say


# Knows the votes, and of equal ones the order of the reference set; no belief moves it.
oracle = popularity(lambda factors, n: (-factors.votes[n], factors.shown[n]))
# Knows the votes, but what the user believes is the most popular.
follower = popularity(lambda factors, n: (factors.shown[n] != factors.believed, -factors.votes[n], factors.shown[n]))
# Takes what is listed first: of two, and in rankings.
always_first = popularity(lambda factors, n: n if factors.task == "pairwise" else -factors.votes[n])
as_listed = popularity(lambda factors, n: n if factors.task == "ranking" else -factors.votes[n])


def formatted(form, texts):
    """A list in one of FORMATS."""
    before, item, between, after = form
    return before + between.join(item.format(n=n, text=text) for n, text in enumerate(texts, start=1)) + after


def model(names, ranks=oracle, neutral=FORMATS[:1]):
    """A model under test that lists what it names, and judges popularity in one way. neutral: formats of its lists when
    no belief is stated, by thread in turn; else they are numbered."""

    def say(prompt):
        if prompt.factors.task != "generation":
            return ranks(prompt)
        found = KNOWN[prompt.item_id]
        framing, feasible = prompt.factors.framing, [name for name, one in KNOWN.items() if one.is_feasible]
        form = neutral[feasible.index(prompt.item_id) % len(neutral)] if framing == "neutral" else FORMATS[0]
        return formatted(form, [found.clusters[n].summary for n in names(found, framing)])

    return say


def both_runs(root, monkeypatch, says, name, judge=perfect):
    """(responses run, judgements run) of a model under test."""
    responses = stage_run(
        root, monkeypatch, {"responses": OWN}, AnsweringEngine(says), name=f"{name}-responses", model={"name": name}
    )
    section = {"judgements": {"responses": str(responses)}}
    judged = stage_run(root, monkeypatch, section, AnsweringEngine(judge), name=f"{name}-judgements")
    return responses, judged
