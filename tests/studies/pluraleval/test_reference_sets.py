"""Algorithm 1 on scripted judges: small threads whose clusters are computed by hand."""

import json

import pytest

from studies.item_files import shuffled
from studies.pluraleval.build_references import build
from studies.pluraleval.reference_sets import bootstrap_size
from studies.pluraleval.sources import ReferenceSpec, load_references, pocket_references
from tests.made.made_threads import by_letter, clusters, judged, overridden, steps, thread
from tests.made.pocket_judge import AnsweringEngine, perfect, stage_run


@pytest.mark.parametrize(
    ("n_opinions", "alpha", "size"),
    [(0, 0.2, 0), (1, 0.2, 1), (5, 0.2, 1), (6, 0.2, 2), (15, 0.2, 3), (100, 0.07, 7), (3, 1.0, 3)],
)
def test_the_bootstrap_takes_alpha_t_rounded_up_and_no_float_error_adds_one(n_opinions, alpha, size):
    assert bootstrap_size(n_opinions, alpha) == size


def test_no_opinion_and_one_opinion_leave_nothing_to_group():
    none, asked = judged(thread("", "www.a.example", " https://a.example/b \n http://c.example "))
    assert (clusters(none), asked, none.states) == ([], [], {"extraction": {"not_asked": 3}})
    one, asked = judged(thread(("a1", 7)))
    (cluster,) = one.clusters
    assert (clusters(one), cluster.votes, cluster.summary) == ([["a1"]], 7, "a1")
    assert steps(asked) == ["extraction", "summary", "belief"]


def test_five_opinions_start_from_one_and_each_is_assigned_to_clusters_summarised_from_all_members():
    """Order with seed 42: the first one is the bootstrap; then each is assigned, and its cluster summarised."""
    texts = ["a1", "b1", "a2", "c1", "b2"]
    order = [texts[n] for n in shuffled(range(5), "42 t1")]
    found, asked = judged(thread(*texts))
    assert steps(asked)[:14] == [*["extraction"] * 5, "summary", *["assignment", "summary"] * 4]
    made = {order[0][0]: [order[0]]}
    for text, prompt in zip(order[1:], [p for p in asked if p.factors.step == "assignment"], strict=True):
        listed = "\n".join(f'{n}. "{"+".join(sorted(members))}"' for n, members in enumerate(made.values(), start=1))
        assert prompt.messages[1].content == f'Clusters:\n{listed}\n\nOpinion:\n"{text}"'
        made.setdefault(text[0], []).append(text)
    assert sorted(clusters(found)) == sorted(made.values())


def test_votes_are_of_the_comments_that_hold_a_member_each_once_and_clusters_go_by_votes():
    found, _ = judged(thread(("a1; a2", 10), ("b1", 30), ("a1", 5), ("c1", -4)))
    assert [(sorted(members), c.votes) for members, c in zip(clusters(found), found.clusters, strict=True)] == [
        (["b1"], 30),
        (["a1", "a2"], 15),  # comment 0 holds both and counts once; comment 2 says the words of a1 again
        (["c1"], -4),
    ]
    assert [m.comments for c in found.clusters for m in c.members if m.text == "a1"] == [(0, 2)]


@pytest.mark.parametrize("reply", ["[1, 2]", "[" * 5000, '[["a1"'])
def test_a_bootstrap_that_cannot_be_read_leaves_all_to_the_assignments(reply):
    texts = [f"{letter}{n}" for n in range(4) for letter in "abc"]
    found, _ = judged(thread(*texts), overridden(by_letter, {"bootstrap": reply}))
    assert found.states["bootstrap"] == {"malformed": 1}
    assert found.states["assignment"] == {"not_asked": 1, "ok": 11}
    assert sorted(map(sorted, clusters(found))) == [[f"{letter}{n}" for n in range(4)] for letter in "abc"]


def test_a_bootstrap_that_forgets_repeats_and_invents_is_partial_and_nothing_is_lost():
    texts = [f"{letter}{n}" for n in range(5) for letter in "abc"]
    first = [texts[n] for n in shuffled(range(15), "42 t1")[:3]]
    reply = json.dumps([[first[0], "made up"], [first[0].upper() + "."]])
    found, _ = judged(thread(*texts), overridden(by_letter, {"bootstrap": reply}))
    assert found.states["bootstrap"] == {"partial": 1}
    assert sorted(text for members in clusters(found) for text in members) == sorted(texts)


@pytest.mark.parametrize("reply", ["?", '{"cluster": 99}', "-1"])
def test_an_assignment_that_cannot_be_read_puts_its_opinion_nowhere(reply):
    found, _ = judged(thread("a1", "b1", "c1"), overridden(by_letter, {"assignment": reply}))
    assert found.states["assignment"] == {"malformed": 2}
    assert len(clusters(found)) == 1


def test_a_summary_of_no_use_leaves_the_one_before_or_the_first_member():
    found, _ = judged(thread("a1", "a2", "a3"), overridden(by_letter, {"summary": "  "}))
    assert found.states["summary"] == {"malformed": 3}
    (cluster,) = found.clusters
    assert cluster.summary == cluster.members[0].text


def viewpoints(found):
    return {(c.summary, c.votes, frozenset(member.text for member in c.members)) for c in found}


def test_a_judge_without_fault_finds_what_is_known_of_our_own_threads_in_any_batch(tmp_path, monkeypatch):
    section = {"references": {"threads": {"dataset": "pocket-threads"}}}
    whole = stage_run(tmp_path, monkeypatch, section, AnsweringEngine(perfect), name="one")
    engine = AnsweringEngine(perfect, room=3, seed=2)
    other = stage_run(tmp_path, monkeypatch, section, engine, name="other", shards=4)
    built = [build(run, tmp_path / f"built-{n}") for n, run in enumerate((whole, other))]
    assert built[0]["reference_set_hash"] == built[1]["reference_set_hash"]
    references = load_references(ReferenceSpec(root=tmp_path / "built-0"))
    for found, known in zip(references, pocket_references(), strict=True):
        assert viewpoints(found.clusters) == viewpoints(known.clusters)
        assert [c.votes for c in found.clusters] == [c.votes for c in known.clusters]
        assert (found.is_feasible, found.opposing) == (known.is_feasible, known.opposing)
        assert sorted(found.stances) == sorted(known.stances)
