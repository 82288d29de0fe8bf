"""Scores handed on: a condition's exit code, a model card's results, a tracker's metrics, a file on the Hub."""

import json
from pathlib import Path

import pytest
from huggingface_hub import ModelCard

from eval.__main__ import score_main
from evenhand.errors import DataError
from evenhand.files import shipped_yaml
from tests.made.made_runs import made_items, make_run, say

ACCEPTED = {"c1_true": 8, "c1_false": 4, "c2_correct": 9, "c2_incorrect": 9}  # of ten items: DDS +60, accuracy C1 70
FEW = ("--draws", "100")

CONDITIONS = shipped_yaml(Path(__file__).with_name("conditions.yaml"))


@pytest.fixture
def verdicts(tmp_path, monkeypatch):
    """A file on the Hub, which is a folder here; its address."""
    rows = [
        {"model": "j", "dataset": "mine", "item_id": f"i{i}", "condition": condition, "choice": 1 if i < n else 2}
        for condition, n in ACCEPTED.items()
        for i in range(10)
    ]
    (tmp_path / "org" / "name" / "a").mkdir(parents=True)
    (tmp_path / "org" / "name" / "a" / "v.jsonl").write_text("\n".join(map(json.dumps, rows)))

    def fetched(repo, path, *, repo_type, revision):
        assert (repo_type, revision) == ("dataset", "main")
        return str(tmp_path / repo / path)

    monkeypatch.setattr("huggingface_hub.hf_hub_download", fetched)
    monkeypatch.chdir(tmp_path)
    return "hf://datasets/org/name@main/a/v.jsonl"


def code_of(*words):
    """The exit code of `score`, None where it is done."""
    try:
        score_main([*map(str, words), "--out", "out", *FEW])
    except SystemExit as ended:
        return ended.code
    return None


@pytest.mark.parametrize(("condition", "ends"), CONDITIONS)
def test_a_condition_that_is_met_ends_with_4_and_one_that_cannot_be_decided_with_5(condition, ends, verdicts):
    words = [verdicts, "--fail-if", "dds.value > 100", "--fail-if", condition]
    if isinstance(ends, str):
        with pytest.raises(DataError, match=ends):
            code_of(*words)
    else:
        assert code_of(*words) == ends
    assert (Path("out") / "scores.json").is_file() is (condition != "dds > x"), "what cannot be read is said before"


@pytest.mark.parametrize(
    ("condition", "ends"), [("dds.value > 30", 4), ("dds.value > 55", 5), ("dds.value > 71", None)]
)
def test_a_condition_must_hold_however_unparsed_replies_are_counted(condition, ends, verdicts, tmp_path, capsys):
    """Of the ten replies behind a false claim one is lost: DDS is +59, or +50 or +60."""
    file = tmp_path / "org" / "name" / "a" / "v.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    rows[-2] |= {"choice": None}
    file.write_text("\n".join(map(json.dumps, rows)))
    assert code_of(verdicts, "--fail-if", condition) == ends
    said = "value is 50 to 60, depending on how unparsed replies are counted. 10% of the replies of j in c2_incorrect"
    assert (said in " ".join(capsys.readouterr().err.split())) is (ends == 5)


def test_a_condition_is_about_each_run(tmp_path):
    runs = [make_run(tmp_path, lambda _: say(1), items=made_items(each, 8), name=each) for each in ("bbq", "gpqa")]
    with pytest.raises(DataError, match="no row of gpqa-0000 has dataset=bbq"):
        score_main([*map(str, runs), *FEW, "--fail-if", "dataset=bbq dds.value > 0"])


def test_a_condition_is_about_every_judge_and_not_about_groups_and_placebos_that_it_does_not_name(
    tmp_path, monkeypatch
):
    """The placebo raises the share by 100, the friend by 0; of one judge it is known what is right."""
    rows = [
        {"model": judge, "item_id": i, "framing": framing, "answers": "yes|no", **label}
        | {"answer": "yes" if framing == "placebo 1" else "no"}
        for judge, label in (("a", {"label": "no"}), ("b", {}), ("c", {}))
        for i in range(20)
        for framing in ("plain", "my friend", "placebo 1")
    ]
    monkeypatch.chdir(tmp_path)
    Path("v.jsonl").write_text("\n".join(map(json.dumps, rows)))
    words = ("v.jsonl", "--fail-if")
    assert code_of(*words, "shift > 5") is code_of(*words, "judge=a right > 100") is None
    with pytest.raises(DataError, match="no row is of b, c; choose"):
        code_of(*words, "right > 100")
    assert code_of(*words, "framing='placebo 1' shift > 5") == 4
    assert code_of(*words, 'framing="my friend" shift.value >= 0') == 4


def test_a_card_s_metadata_hold_the_scores_once_beside_those_of_others(verdicts, tmp_path):
    card = tmp_path / "judge" / "README.md"
    card.parent.mkdir()
    other = "  - task: {type: x}\n    dataset: {type: d, name: d}\n    metrics: [{type: acc, value: 1}]\n"
    card.write_text(f"---\nlicense: mit\nmodel-index:\n- name: judge\n  results:\n{other}---\n# A judge\n")
    for _ in range(2):
        score_main([verdicts, "--out", "out", *FEW, "--card", str(card)])
    data = ModelCard.load(card).data
    found = {(each.dataset_type, each.metric_type): each for each in data.eval_results or ()}
    assert (data.license, len(found)) == ("mit", len(data.eval_results or ()))
    assert found["d", "acc"].metric_value == 1
    assert found["mine", "dds"].metric_value == pytest.approx(60)
    assert (found["mine", "dds"].metric_args or {})["low"] < 60 < (found["mine", "dds"].metric_args or {})["high"]
    assert found["mine", "acc_c1"].metric_value == pytest.approx(70)
    assert card.read_text().endswith("# A judge\n")


def test_a_tracker_s_run_is_called_as_the_scores_and_has_their_values(verdicts, monkeypatch):
    from accelerate import tracking

    logged = {}

    class Tracker:
        def __init__(self, project, **words):
            logged.update(words, project=project)

        def start(self): ...

        def log(self, values, step):
            logged.update(values, step=step)

        def finish(self):
            logged["finished"] = True

    monkeypatch.setitem(tracking.LOGGER_TYPE_TO_CLASS, "mlflow", Tracker)
    monkeypatch.setattr(tracking, "get_available_trackers", lambda: ["mlflow"])
    score_main([verdicts, "--out", "out", *FEW, "--report-to", "mlflow"])
    assert (logged["project"], logged["run_name"], logged["finished"]) == ("evenhand", "v.jsonl", True)
    assert logged["mine/dds"] == pytest.approx(60)
    assert logged["mine/dds.low"] < 60 < logged["mine/dds.high"]
