"""Algorithm 1 on scripted judges: small threads whose clusters are computed by hand."""

import json
import os
import random
import signal
from pathlib import Path

import pytest

from evenhand.records import Prompt
from studies.pluraleval.build_references import build
from studies.pluraleval.reference_sets import ReferenceSettings, bootstrap_size, random_order
from tests.made.made_threads import POCKET, by_letter, clusters, judged, overridden, steps, thread
from tests.made.pocket_judge import AnsweringEngine, perfect, stage_run
from tests.made.read_back import completions_of


@pytest.mark.parametrize(
    ("n_opinions", "alpha", "size"),
    [(0, 0.2, 0), (1, 0.2, 1), (5, 0.2, 1), (6, 0.2, 2), (15, 0.2, 3), (100, 0.07, 7), (3, 1.0, 3)],
)
def test_the_bootstrap_takes_alpha_t_rounded_up_and_no_float_error_adds_one(
    n_opinions: int, alpha: float, size: int
) -> None:
    assert bootstrap_size(n_opinions, alpha) == size


def test_no_opinion_gives_no_cluster_and_asks_nothing_more() -> None:
    found, asked = judged(thread("", "https://example.org/a.gif"), by_letter)
    assert clusters(found) == []
    assert asked == []
    assert found.states == {"extraction": {"not_asked": 2}}


def test_one_opinion_is_a_cluster_that_nobody_needs_to_group() -> None:
    found, asked = judged(thread(("a1", 7)))
    assert clusters(found) == [["a1"]]
    assert found.clusters[0].votes == 7
    assert found.clusters[0].summary == "a1"
    assert steps(asked) == ["extraction", "summary", "belief"]


def test_five_opinions_start_from_one_and_are_assigned_one_after_the_other() -> None:
    """Order with seed 42: the first one is the bootstrap; then each is assigned, and its cluster summarised."""
    texts = ["a1", "b1", "a2", "c1", "b2"]
    order = [texts[n] for n in random_order("t1", 5, 42)]
    found, asked = judged(thread(*texts))
    by_first = {letter: [text for text in order if text[0] == letter] for letter in "abc"}
    assert {tuple(members) for members in clusters(found)} == {tuple(members) for members in by_first.values()}
    assert steps(asked)[:5] == ["extraction"] * 5
    assert steps(asked)[5:14] == ["summary", *["assignment", "summary"] * 4]
    assigned = [
        json.loads(p.messages[1].content.split("Opinion:\n")[1]) for p in asked if p.factors.step == "assignment"
    ]
    assert assigned == order[1:]


def test_the_summary_is_refreshed_from_all_members_before_the_next_assignment() -> None:
    _, asked = judged(thread("a1", "a2", "a3", "b1", "b2"))
    last = [prompt for prompt in asked if prompt.factors.step == "assignment"][-1]
    order = [["a1", "a2", "a3", "b1", "b2"][n] for n in random_order("t1", 5, 42)]
    made: dict[str, list[str]] = {}
    for text in order[:-1]:
        made.setdefault(text[0], []).append(text)
    listed = "\n".join(f'{n}. "{"+".join(sorted(texts))}"' for n, texts in enumerate(made.values(), start=1))
    assert last.messages[1].content == f'Clusters:\n{listed}\n\nOpinion:\n"{order[-1]}"'


def test_votes_are_of_the_comments_that_hold_a_member_each_once_and_clusters_go_by_votes() -> None:
    found, _ = judged(thread(("a1; a2", 10), ("b1", 30), ("a1", 5), ("c1", -4)))
    assert [(sorted(members), c.votes) for members, c in zip(clusters(found), found.clusters, strict=True)] == [
        (["b1"], 30),
        (["a1", "a2"], 15),  # comment 0 holds both and counts once; comment 2 says the words of a1 again
        (["c1"], -4),
    ]
    a1 = next(m for c in found.clusters for m in c.members if m.text == "a1")
    assert a1.comments == (0, 2)


def test_another_seed_takes_another_order_and_the_same_one_the_same() -> None:
    texts = [f"{letter}{n}" for n in range(4) for letter in "abc"]
    runs = [judged(thread(*texts), settings=ReferenceSettings(threads=POCKET, seed=seed))[1] for seed in (1, 1, 2)]
    asked = [[prompt.messages[1].content for prompt in run] for run in runs]
    assert asked[0] == asked[1] != asked[2]


@pytest.mark.parametrize("reply", ["", "no idea", "[1, 2]", '{"a": 1}', "[" * 5000, '[["a1"'])
def test_a_bootstrap_that_cannot_be_read_leaves_all_to_the_assignments(reply: str) -> None:
    texts = [f"{letter}{n}" for n in range(4) for letter in "abc"]
    found, _ = judged(thread(*texts), overridden(by_letter, {"bootstrap": reply}))
    assert found.states["bootstrap"] == {"malformed": 1}
    assert found.states["assignment"] == {"not_asked": 1, "ok": 11}
    assert sorted(map(sorted, clusters(found))) == [[f"{letter}{n}" for n in range(4)] for letter in "abc"]


def test_a_bootstrap_that_forgets_repeats_and_invents_is_partial_and_nothing_is_lost() -> None:
    texts = [f"{letter}{n}" for n in range(5) for letter in "abc"]
    first = [texts[n] for n in random_order("t1", 15, 42)[:3]]
    reply = json.dumps([[first[0], "made up"], [first[0].upper() + "."]])
    found, _ = judged(thread(*texts), overridden(by_letter, {"bootstrap": reply}))
    assert found.states["bootstrap"] == {"partial": 1}
    assert sorted(text for members in clusters(found) for text in members) == sorted(texts)


@pytest.mark.parametrize(
    ("reply", "state"), [("?", "malformed"), ('{"cluster": 99}', "out_of_range"), ("-1", "out_of_range")]
)
def test_an_assignment_that_cannot_be_read_puts_its_opinion_nowhere(reply: str, state: str) -> None:
    found, _ = judged(thread("a1", "b1", "c1"), overridden(by_letter, {"assignment": reply}))
    assert found.states["assignment"] == {state: 2}
    assert len(clusters(found)) == 1


def test_a_summary_of_no_use_leaves_the_one_before_or_the_first_member() -> None:
    found, _ = judged(thread("a1", "a2", "a3"), overridden(by_letter, {"summary": "  "}))
    assert found.states["summary"] == {"malformed": 3}
    (cluster,) = found.clusters
    assert cluster.summary == cluster.members[0].text


def test_a_run_that_is_killed_ten_times_finds_the_same_clusters_and_asks_nothing_twice_that_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    section = {"references": {"threads": {"dataset": "pocket-threads"}}}
    whole = stage_run(tmp_path, monkeypatch, section, AnsweringEngine(perfect), name="one")
    draws = random.Random(7)
    for _ in range(10):
        left = draws.randrange(1, 30)

        def dies(prompt: Prompt) -> str:
            nonlocal left
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return perfect(prompt)

        if (child := os.fork()) == 0:
            stage_run(tmp_path, monkeypatch, section, AnsweringEngine(dies), name="killed", shard_size=4)
            os._exit(0)
        assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    (path,) = tmp_path.glob("inference/killed-*")
    written = {hash_ for hash_, _ in completions_of(path)}
    last = AnsweringEngine(perfect)
    assert stage_run(tmp_path, monkeypatch, section, last, name="killed", shard_size=4) == path
    assert not written & {prompt.prompt_hash for prompt in last.asked}
    hashes = [build(run, tmp_path / f"built-{run.name}")["reference_set_hash"] for run in (whole, path)]
    assert hashes[0] == hashes[1]
