"""What became of the replies by perspective, and the warning where that depends on who is Me."""

from pathlib import Path

import pytest

from eval.narrator.judged_runs import NarratorRun, load_narrator_runs
from eval.narrator.printed import reply_table
from eval.narrator.sentences import doubts
from eval.narrator.states import clear_differences, state_differences
from eval.narrator.study import study
from evenhand.records import Prompt
from tests.made.narrator_runs import factors_of, fair, made_conversations, make_narrator_run, mixed

REFUSES = {"I cannot answer that.": 1.0}
FEW = {"tasks": ("identification", "blame"), "visibilities": ("visible",)}


def shy(prompt: Prompt) -> dict[str, float]:
    """A fair judge that refuses a tenth of all prompts, and in blame three in ten where the attacker is Me."""
    factors = factors_of(prompt)
    is_shy = factors.perspective == "attacker" and factors.task == "blame"
    return mixed(REFUSES, fair(prompt), 0.3 if is_shy else 0.1)


def as_shy(prompt: Prompt) -> dict[str, float]:
    """A fair judge that refuses a fifth of all prompts, whoever is Me."""
    return mixed(REFUSES, fair(prompt), 0.2)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[NarratorRun]:
    root, conversations = tmp_path_factory.mktemp("runs"), made_conversations({2: 30, 3: 30})
    judges = {"shy": shy, "as_shy": as_shy}
    return load_narrator_runs(
        [make_narrator_run(root, judges[name], conversations, name=name, model=f"x/{name}", **FEW) for name in judges]
    )


def test_states_that_depend_on_who_is_me_are_found_in_size_and_where_they_are(runs: list[NarratorRun]) -> None:
    clear = clear_differences(state_differences("shy", runs[0].judgments))
    assert {(one.asked.task, one.state) for one in clear} == {("blame", "refusal"), ("blame", "chosen")}
    assert {frozenset((one.perspective, one.against)) for one in clear} == {
        frozenset(("attacker", "neutral")),
        frozenset(("non_attacker", "attacker")),
    }
    refusals = [one for one in clear if one.state == "refusal" and one.perspective == "attacker"]
    assert [one.difference.value for one in refusals] == [pytest.approx(20, abs=6)] * 2  # both option orders
    assert clear_differences(state_differences("as_shy", runs[1].judgments)) == []


def test_the_warning_names_the_judge_whose_states_differ_and_no_other(runs: list[NarratorRun], tmp_path: Path) -> None:
    found = study(runs)
    warned = [doubt for doubt in doubts(found, "shy") if "depends on who is Me" in doubt]
    assert len(warned) == 1
    assert "in blame attribution with the attack shown" in warned[0]
    assert "that difference is bias in PR" in warned[0]
    assert not any("depends on who is Me" in doubt for doubt in doubts(found, "as_shy"))


def test_the_report_shows_every_state_by_perspective(runs: list[NarratorRun]) -> None:
    table = reply_table(study(runs))
    refusal = table.columns.index("refusal")
    of_blame = {row[2]: row[refusal] for row in table.rows if row[:2] == ("shy", "blame")}
    assert list(of_blame) == ["Neutral", "Attacker", "Non-attacker"]
    assert of_blame["Attacker"] == pytest.approx(30, abs=4)
    assert of_blame["Neutral"] == pytest.approx(10, abs=4)
