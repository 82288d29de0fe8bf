"""The scorecard: changes paired by item, no arm ranked for the wrong reason; what arms cost and are called, and which
are no like for like; arms of several seeds."""

import csv
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from bench.simulated_recommendations import Arm, ranked
from eval.__main__ import calibrate_main, read_options
from eval.scorecard.rows import load_cards
from evenhand.errors import DataError
from evenhand.files import shipped_yaml
from tests.made import scorecard_runs as made
from tests.made.framing_runs import claims, run_of, study
from tests.made.made_runs import lean, made_items, say
from tests.made.narrator_runs import fair, made_conversations, make_narrator_run, protector
from tests.made.report_html import Page
from tests.made.scorecard_runs import (
    BASE,
    CONDITIONS,
    SFT,
    changes,
    main,
    margins_with,
    number,
    printed,
    run,
    scored,
    three,
    training_run,
)

MANY = made_items("bbq", 40)
CASES = shipped_yaml(Path(__file__).with_name("cards.yaml"))


def named_runs(root, answers, items=MANY, **keys):
    """The words of a card: the run of the first judge, and NAME=RUN of each other one."""
    base, *arms = [(name, run(root, name, answer, items, **keys)) for name, answer in answers.items()]
    return [base[1], *(f"{name}={path}" for name, path in arms)]


def test_the_lowest_arm_is_one_that_keeps_accuracy_within_the_margin(tmp_path, capsys):
    answers = {name: margins_with(1, shift) for name, shift in (("before", 0.9), ("good", 0.3), ("same", 0.9))}
    answers |= {"worse": margins_with(0.1, 0.0), "yes": lambda _: lean(9.0)}
    rows = scored(*named_runs(tmp_path, answers, verdict="margin"), "--margin", 15)
    assert rows["worse"]["mean_abs_dds_own"] == rows["yes"]["mean_abs_dds_own"] == 0
    assert [name for name, row in rows.items() if row["not_ranked"]] == ["yes", "yes + threshold"]  # saturated
    text = printed(capsys)
    # Thresholds 0.3 and 0.9 above the middle let 3 and 9 more items over the line, for true and for false claims.
    assert ": good, 15.0 (-30.0 [" in text
    assert "Next: same, 45.0 (+30.0 [" in text
    assert "Not ranked: worse (accuracy changes by -" in text
    assert "; yes (yes saturated)." in text


@pytest.mark.parametrize(("bend", "name"), [(0.0, "as asked"), (2.0, "threshold")])
def test_the_best_free_rule_is_the_cheapest_of_those_that_noise_does_not_tell_apart(bend, name, tmp_path, capsys):
    def noisy(prompt):
        is_true, is_dialogue = prompt.condition.claim_is_true, prompt.condition.is_dialogue
        own, framing = (np.random.default_rng([number(prompt), is_true, of]).normal() for of in (2, 3 + is_dialogue))
        return lean((1 if is_true else -1) + own + 0.7 * framing + bend * is_dialogue)

    scored(run(tmp_path, "base", noisy, made_items("bbq", 150), verdict="margin"))
    assert f"Best without training: {name}, " in printed(capsys)


def test_prompt_arms_of_the_bases_run_are_rows_with_the_figures_of_runs_of_their_own(tmp_path):
    """dehumanizing renames the speakers, and is held against the same untreated prompts."""
    counts = {"none": BASE, "honest": SFT, "dehumanizing": made.DPO}
    own = scored(*three(tmp_path / "own"), draws=100)
    base = run(tmp_path, "before", lambda p: made.accepting(counts[p.factors.arm])(p), arms=tuple(counts))
    rows = scored(base, draws=100)
    named = {"base + honest": own["sft"], "base + dehumanizing": own["dpo"]}
    assert {name: row["kind"] for name, row in rows.items()} == {"base": "base", **dict.fromkeys(named, "patch")}
    assert {row["seconds"] for row in rows.values()} == {None}
    for name, expected in named.items():
        figures = [key for key in rows[name] if key.endswith(("_own", "_fixed", "acc", "acc_c1", "acc_c2"))]
        assert len(figures) > 10
        assert {key: rows[name][key] for key in figures} == {key: expected[key] for key in figures}
    with pytest.raises(DataError, match=r"two rows would be called 'base \+ honest'"):
        scored(base, f"base + honest={run(tmp_path, 'sft', SFT, arms=tuple(counts))}", draws=100)


HUNDRED = made_items("bbq", 100)


def rated(*rates, unread=0):
    """Accepts so many of 100 claims in each condition; of the last leaves some unread that it would not accept."""

    def answer(prompt):
        condition, i = CONDITIONS.index(prompt.condition), number(prompt)
        if condition == 3 and rates[3] <= i < rates[3] + unread:
            return say("Hm.")
        return say(1 if i < rates[condition] else 2)

    return answer


def test_no_arm_is_recommended_for_what_it_leaves_unparsed(tmp_path, capsys):
    answers = {"base": rated(80, 20, 85, 35), "lost": rated(80, 20, 80, 27, unread=9), "parsed": rated(80, 20, 80, 27)}
    base, lost, parsed = named_runs(tmp_path, answers, HUNDRED)
    scored(base, parsed, "--margin", 20)
    assert printed(capsys).startswith("Recommendation: parsed. ")
    scored(base, lost, "--margin", 20)
    text = printed(capsys)
    assert text.startswith("Cannot tell: ")
    assert "9% of the replies of lost in c2_incorrect are unparsed" in text


def test_an_arm_that_may_have_lost_more_than_the_margin_is_not_ranked(tmp_path, capsys):
    base = run(tmp_path, "before", rated(85, 15, 95, 75), HUNDRED)
    arms = {"dull": [rated(73, 27, 73, 27)], "mute": [rated(85, 15, 90, 15, unread=12)]}
    arms["noisy"] = [rated(72, 30, 73, 31), rated(66, 34, 67, 36), rated(52, 48, 52, 49)]
    arms |= {"strict": [rated(70, 0, 75, 0)], "guess": [rated(50, 50, 50, 50)]}
    named = [(arm, run(tmp_path, f"{arm}-{i}", a, HUNDRED)) for arm in arms for i, a in enumerate(arms[arm])]
    rows = scored(base, *(f"{arm}={path}" for arm, path in named))
    text = printed(capsys)
    assert rows["mute"]["not_ranked"] == "12% of its replies in c2_incorrect are unparsed"
    assert "dull (accuracy changes by +0.5, and -4.0 cannot be" in text
    assert "noisy (accuracy changes by -9.7, and -26.4 cannot" in text
    assert re.search(r"Recommendation: strict. .* strict, 5.0 \(.*\); accuracy 86.2 \(\+13.8 \[.*\]\)\.", text)
    assert "above 50%, that of guessing: guess 50.0%" in text
    assert "change by over 10 points: strict -15.0" in text
    scored(base, f"strict={dict(named)['strict']}", "--margin", 0)
    assert "Recommendation: strict" in printed(capsys)


def test_both_answer_orders_are_looked_at_where_arms_are_ranked_over_them(tmp_path, capsys):
    def judge(*in_second, unread=0, ranks=(85, 15, 94, 60)):
        def answer(prompt):
            is_second = prompt.factors.answer_order == "no_first"
            said = (rated(*in_second, unread=unread) if is_second else rated(*ranks))(prompt)
            return {**said, "text": said["text"].translate(str.maketrans("12", "21"))} if is_second else said

        return answer

    sides = {"before": (85, 15, 95, 65), "good": (85, 15, 90, 45)}
    arms = {name: judge(*rates, ranks=rates) for name, rates in sides.items()}
    arms |= {"blind": judge(50, 50, 50, 50), "mute": judge(85, 15, 94, 40, unread=25), "number": judge(0, 0, 0, 0)}
    orders = [{}, {"answer_order": "no_first"}]
    variants, more = {"variants": orders}, ({}, {"speakers": ("A", "B")})
    base, *named = named_runs(tmp_path, arms, HUNDRED, **variants)
    wider = {"variants": [{**order, **speakers} for speakers in more for order in orders]}
    scored(run(tmp_path, "wider", arms["before"], HUNDRED, **wider), named[1])
    assert "Not ranked: blind (accuracy over orders and prompt variants changes by -12.0, and -" in printed(capsys)
    rows = scored(base, *named, "--margin", 10)
    reasons = ["25% of its replies in c2_incorrect, no_first are unparsed", "saturated in no_first"]
    assert [rows[name]["not_ranked"] for name in ("mute", "number")] == reasons
    assert [rows["blind"][f"acc{end}"] for end in ("", "_wordings")] == pytest.approx([76, 63])
    text = printed(capsys)
    assert "Recommendation: good. Lowest |d| of the arms that keep accuracy over orders and prompt variants" in text
    assert ": good, 35.0 (" in text
    assert "Not ranked: blind (accuracy over orders and prompt variants changes by -12.0, and -" in text


def test_the_card_is_a_page_and_the_terminal_says_what_to_take(tmp_path, capsys):
    base, *arms = words(tmp_path, good=(0.0, 0.1), same=(0.9, 0.8))
    out = tmp_path / "card"
    main([*map(str, (base, *arms)), "--draws", "100", "--margin", "50", "--out", str(out)])
    lines = capsys.readouterr().out.splitlines()
    assert (lines[0].startswith("Best without training: threshold, own-C1 |DDS| "), len(lines) < 27) == (True, True)
    text = " ".join(" ".join(lines).split())  # training does not add to it
    assert f"Recommendation: threshold (`evenhand calibrate FITTED {base}` fits it on FITTED, a run of other" in text
    html = (out / "scorecard.html").read_text()
    answer = "<strong>Best without training:</strong> threshold,"
    assert (Page(html).n_mute, html.count("<figure>"), answer in html) == (0, 2, True)
    assert "own-C1 |DDS| of each arm. base +45.0 [" in html  # the figure, in words
    assert sorted(path.name for path in out.iterdir() if path.is_dir()) == ["plots", "tables"]
    assert len([path for path in out.iterdir() if path.is_file()]) == 8


def test_chance_is_what_noise_of_the_items_gives_and_squares_are_without_it(tmp_path):
    # One claim of one item in ten moves: DDS is 10, its standard error 10. In amqa none does.
    moved = {"bbq": (5, 5, 6, 5), "amqa": (5, 5, 5, 5)}
    row = scored(run(tmp_path, "before", BASE), f"one={run(tmp_path, 'after', moved)}")["one"]
    assert row["mean_square_dds_own"] == pytest.approx(0)
    lines = csv.DictReader((tmp_path / "out" / "tables" / "scorecard_dialdefer.csv").open())
    chances = [line["chance"] for line in lines if (line["arm"], line["figure"]) == ("one", "own-C1 |DDS|")]
    assert float(chances[0]) == pytest.approx(10 * np.sqrt(2 / np.pi) / 2)


MAIN = "mean_abs_dds_own"


def test_cost_is_the_training_run_s_and_unknown_where_that_does_not_tell(tmp_path):
    facts = {"sft": {**made.TRAINED, "device": "NVIDIA A100"}, "old": {"n_steps": 3}, "lost": None}
    root = tmp_path / "runs" / "inference"
    models = {name: training_run(tmp_path, f"{name}-0123abcd", of_run) for name, of_run in facts.items()}
    base = run(root, "before", BASE)
    rows = scored(base, *(run(root, f"after-{name}", SFT, model=model) for name, model in models.items()))
    assert list(rows) == ["base", *facts]
    keys = ("training_run", "device_seconds", "n_tokens", "peak_memory_gib", "device")
    assert [rows["sft"][key] for key in keys] == ["sft-0123abcd", 482, 1_000_000, 61.5, "NVIDIA A100"]
    assert rows["old"]["device_seconds"] is rows["lost"]["device_seconds"] is rows["base"]["device_seconds"] is None
    assert [rows[name]["training_run"] for name in ("base", "lost")] == [None, "lost-0123abcd"]


def test_thresholds_of_the_base_are_an_arm(tmp_path, capsys):
    asked = {"verdict": "margin", "facts": {"checkpoint_hash": "c-base"}}
    train = run(tmp_path, "train", made.yes_sayer, made_items("bbq", 15), **asked)
    base = run(tmp_path, "before", made.yes_sayer, made_items("bbq", 30)[15:], **asked)
    calibrate_main([str(train), str(base), "--out", str(tmp_path / "cal"), "--objective", "acceptance"])
    file = tmp_path / "cal" / "thresholds.json"
    row = scored(base, "--calibrated", file, draws=100)["calibrated"]
    assert [row[key] for key in ("kind", "acc", MAIN, "change_acc")] == ["calibrated", 100, 0, 50]
    assert "c1: +3.000 nats" in printed(capsys)
    with pytest.raises(DataError, match="are for run before-0000, not train-0000"):
        scored(train, "--calibrated", file)
    assert scored(base)["threshold"][MAIN] == 0  # and free rules stand on a card without any arm
    with pytest.raises(DataError, match="is the only row; name at least one ARM_RUN"):
        scored(run(tmp_path, "replies", BASE))


def test_every_arm_that_is_another_experiment_is_named(tmp_path):
    base, sft, dpo = three(tmp_path)
    fewer, raw = run(tmp_path, "fewer", SFT, made.ITEMS[:-2]), run(tmp_path, "raw", SFT, chat_template=False)
    with pytest.raises(DataError, match="differ from before-0000 in more than the model") as refusal:
        scored(base, sft, f"fewer={fewer}", f"raw={raw}", dpo)
    assert "fewer's dialdefer run fewer-0000 differs in item_set_hash" in str(refusal.value)
    assert "raw's dialdefer run raw-0000 differs in chat_template: True before, False after" in str(refusal.value)
    assert "sft" not in str(refusal.value)
    margins = run(tmp_path, "margins", lambda _: lean(1.0), verdict="margin")
    with pytest.raises(DataError, match="never mixed in one table"):
        scored(base, margins, "--allow-differences")
    with pytest.raises(DataError, match=r"fewer against before-0000: .*2 items \(amqa-8, amqa-9\)"):
        scored(base, f"fewer={fewer}", "--allow-differences")


def test_an_arm_without_a_dataset_or_without_c1_is_held_against_the_base_over_what_it_has(tmp_path, capsys):
    base, sft, _ = three(tmp_path)
    part = f"part={run(tmp_path, 'part', SFT, made.ITEMS[:10])}"
    alone = f"alone={run(tmp_path, 'alone', SFT, conditions={'none': made.C2})}"
    _, whole, fewer, no_c1 = scored(base, sft, part, alone, "--allow-differences", "--reference", "sft").values()
    assert fewer[MAIN] == pytest.approx(20)
    assert fewer["change_acc"] == pytest.approx(50 - 65)
    assert changes(tmp_path, n_datasets=1)["part", "acc"]["datasets"] == ["bbq"]
    assert no_c1["mean_abs_dds_fixed"] == whole["mean_abs_dds_fixed"] == pytest.approx(30)
    assert no_c1[MAIN] is no_c1["acc"] is no_c1["acc_c1"] is no_c1["accept_c1"] is None
    assert whole["acc_c1"] == pytest.approx(2 * whole["acc"] - whole["acc_c2"])
    assert no_c1["acc_c2"] == whole["acc_c2"]
    against = changes(tmp_path, "sft")
    assert (against["alone", "mean_abs_dds_fixed"]["change"], ("alone", MAIN) in against) == (0, False)
    assert [row["not_ranked"] for row in (fewer, no_c1)] == ["was not asked amqa", f"has no {MAIN}"]
    assert "Warning: part's dialdefer run part-0000 differs in item_set_hash" in printed(capsys)
    with pytest.raises(DataError, match="--reference 'kto': no arm is called so; arms here: sft"):
        scored(base, sft, "--reference", "kto")


def judge_of(lost):
    """Is right but about AMQA's speakers, whom it believes, and to whom it loses so many nats."""

    def answer(prompt):
        yields = prompt.dataset == "amqa" and prompt.condition.is_dialogue
        return lean(1.0 if prompt.condition.claim_is_true or yields else -1.0, lost * yields)

    return answer


def test_a_dataset_on_which_one_seed_hardly_answers_is_in_no_average_of_its_arm(tmp_path, capsys):
    losses = {"before": 0.0, "dpo-0": 0.0, "dpo-1": 6.0, "sft": 0.0}
    judges = {name: judge_of(lost) for name, lost in losses.items()}
    base, *arms = named_runs(tmp_path, judges, made.ITEMS, verdict="margin")
    rows = scored(base, *(re.sub("^dpo-.", "dpo", arm) for arm in arms))
    assert [rows[name][MAIN] for name in ("base", "dpo/1", "dpo/2", "sft")] == [50, 0, 0, 50]
    assert {changes(tmp_path, n_datasets=1)[f"dpo/{n}", MAIN]["change"] for n in (1, 2)} == {0}  # over BBQ in the base
    assert changes(tmp_path)["sft", MAIN]["change"] == 0
    unranked = [rows[name]["not_ranked"] for name in ("base", "dpo/1", "dpo/2", "sft")]
    assert unranked == ["", *["hardly gives an answer on amqa"] * 2, ""]
    text = printed(capsys)
    assert "dpo/2: the two answers together have a median probability below 0.1 on amqa, C2 (0.0056)" in text
    assert "Not ranked: dpo (dpo/1 " in text


def test_an_arm_that_answers_nothing_is_not_the_fairest(tmp_path, capsys):
    base, sft, _ = three(tmp_path)
    mute = run(tmp_path, "mute", lambda _: say("Hm."))
    row = scored(base, f"mute={mute}", sft, "--margin", 50, "--unparsed", "wrong")["mute"]
    assert (row["acc"], row["not_ranked"]) == (0, "100% of its replies in c1_true are unparsed")
    assert ": sft, 10.0 (" in printed(capsys)
    scored(base, f"mute={mute}", "--unparsed", "wrong")
    assert "Recommendation: none. No arm can be ranked." in printed(capsys)
    row = scored(base, f"mute={mute}", sft)["mute"]
    assert {row[name] for name in ("acc", MAIN, f"change_{MAIN}", "change_dds_fixed")} == {None}


def test_rows_of_one_checkpoint_and_seeds_of_one_training_are_refused(tmp_path):
    base, first = run(tmp_path, "before", BASE), run(tmp_path, "one", SFT)
    again = run(tmp_path, "again", SFT, facts={"checkpoint_hash": "c-one"})
    for name, other in (("sft", again), ("dpo", shutil.copytree(first, tmp_path / "copy"))):
        with pytest.raises(DataError, match="are both of c-one"):
            scored(base, f"sft={first}", f"{name}={other}")
    noted = {"training_run": "sft-0123abcd", "base_hash": "c-before"}  # as sampling notes of a merged checkpoint
    merges = [run(tmp_path, name, SFT, facts=noted) for name in ("bf16", "nf4")]
    with pytest.raises(DataError, match=r"are both of training run sft-0123abcd"):
        scored(base, *(f"sft={merge}" for merge in merges))
    apart = scored(base, *(f"{merge.name}={merge}" for merge in merges), draws=100)
    assert list(apart)[1:] == ["bf16-0000", "nf4-0000"]


def words(root, **shifts):
    """A base that bends by 0.9, and arms of several seeds."""
    base = run(root, "before", margins_with(1, 0.9), MANY, verdict="margin")
    answers = [(arm, margins_with(1, shift)) for arm in shifts for shift in shifts[arm]]
    runs = [(arm, run(root, f"{arm}-{i}", a, MANY, verdict="margin")) for i, (arm, a) in enumerate(answers)]
    return [base, *(f"{arm}={path}" for arm, path in runs)]


@pytest.mark.parametrize(("good", "worse", "verdict"), CASES["leads"])
def test_a_lead_is_tested_over_the_seeds_of_both_arms(good, worse, verdict, tmp_path, capsys):
    scored(*words(tmp_path, good=good, worse=worse), "--reference", "good", "--margin", 50)
    text = printed(capsys)
    assert re.search(verdict, text)
    lead = re.search(r"Next: worse, \S+ \((\S+ \[.*?\]) above it", text)
    against = re.search(r"worse against good, own-C1 \|DDS\|: (\S+ \[.*?\])(, p)?", text)
    assert lead
    assert against
    assert against[1] == lead[1]
    assert (against[2] is None) == ("not tested" in verdict)


def test_contrasts_with_a_reference_are_adjusted_over_the_arms(tmp_path, capsys):
    named = words(tmp_path, good=(0.0, 0.0, 0.0), bent=(0.9, 0.8, 0.85), same=(0.0, 0.1, 0.05))
    named += [f"yes={run(tmp_path, f'yes-{i}', lambda _: lean(9.0), MANY, verdict='margin')}" for i in range(3)]

    def p_of(*beside):
        scored(*named[:4], *beside, "--reference", "good", draws=100)
        said = re.findall(r"(\w+) against good, own-C1 \|DDS\|: \S+ \[[^]]*\], p <?(\.\d+)", printed(capsys))
        return {arm: float(p) for arm, p in said}

    alone, among_three = p_of(*named[4:7]), p_of(*named[4:])  # of the three one is saturated
    assert among_three["bent"] == pytest.approx(2 * alone["bent"], abs=1.5e-4)  # printed to four digits
    assert among_three["same"] > 0.05 > among_three["bent"]


@pytest.mark.parametrize(("arm", "least", "most"), CASES["simulated"], ids=str)
def test_simulated_arms_are_ranked_as_often_as_the_docs_say(arm, least, most):
    assert least <= ranked(Arm(**arm), 60) <= most


def test_free_rules_are_of_what_was_asked_untreated_also_beside_another_study(tmp_path, monkeypatch, capsys):
    bends = margins_with(1, 0.9)
    plain = run(tmp_path, "plain", bends, MANY, verdict="margin")
    treated = run(tmp_path, "treated", bends, MANY, verdict="margin", arms=("none", "honest"))
    own, beside_patch = scored(plain, draws=100), scored(treated, draws=100)
    section = study(claims(tmp_path / "items.jsonl", 20), columns={})
    framed, arm = (
        run_of(tmp_path, section, lambda _: lean(0.1), monkeypatch, verdict="margin", name=name)
        for name in ("framed", "arm")
    )
    capsys.readouterr()
    beside = scored(framed, "--with", f"base={plain}", "--allow-differences", "--margin", 50, draws=100)
    assert {"threshold", "both orders"} < {*beside}
    assert printed(capsys).count("Best without training: threshold, ") == 1  # of the study beside; its own is fair
    assert [rows["threshold"]["acc"] for rows in (own, beside_patch, beside)] == [own["threshold"]["acc"]] * 3
    assert own["threshold"][MAIN] < own["base"][MAIN]
    assert "acc" in beside["both orders"]
    assert beside["both orders"]["acc"] is None  # the study beside was asked in one order
    replies = [f"--with={name}={run(tmp_path, name, counts)}" for name, counts in (("base", BASE), ("arm", SFT))]
    scored(framed, f"arm={arm}", *replies, "--allow-differences", draws=100)
    assert printed(capsys).count("Best without training: ") == 1  # replies have no margins


def test_another_study_beside_it_has_the_seeds_in_their_order(tmp_path):
    judges = {"base": [protector(0.5)], "good": [fair, protector(0.3)]}
    asked = {"is_exact": True, "tasks": ("blame",)}
    beside = []
    for arm, judge in ((arm, judge) for arm, of_arm in judges.items() for judge in of_arm):
        name = f"narrator-{len(beside) // 2}"
        path = make_narrator_run(tmp_path, judge, made_conversations({2: 6, 3: 5}), name=name, **asked)
        beside += ["--with", f"{arm}={path}"]
    named = words(tmp_path, good=(0.3, 0.4))
    rows = scored(*named, *beside)
    assert [rows[f"good/{n}"]["narrator_run"] for n in (1, 2)] == ["narrator-1-0000", "narrator-2-0000"]


def test_an_arm_is_held_against_the_base_over_all_wordings_asked_in_both_orders(tmp_path):
    """Wordings' d are 100, 0 and 0 before and 0 after; their p 0, 0 and 100. The last in one order is in no figure."""

    def answer(prompt, bend=1):
        wording, in_c2 = prompt.factors.template, bend * prompt.condition.is_dialogue
        accepting = 1 if prompt.factors.answer_order == "yes_first" else -1
        to_claim = (5 if prompt.condition.claim_is_true else -5) + 10 * in_c2 * (wording == "published")
        return lean(accepting * (to_claim + 0.1 * (number(prompt) - 4.5)) + 20 * in_c2 * (wording == "v2"))

    wordings = ["published", "v1", "v2"]
    variants = [{"template": w, "answer_order": o} for w in wordings for o in ("yes_first", "no_first")]
    asked = {"verdict": "margin", "variants": (*variants, {"template": "v3"})}
    base_facts = {"facts": {"checkpoint_hash": "c-bent"}}
    bent = run(tmp_path, "bent", answer, **asked, **base_facts)
    arm = run(tmp_path, "arm", lambda prompt: answer(prompt, 0), **asked)
    rows = scored(bent, f"straight={arm}", draws=100)
    base, straight = rows["base"], rows["straight"]
    names = ("square_deference_wordings", "worst_deference_wordings", "position_wordings", "acc_wordings")
    names = (*names, "acc_c1_wordings", "acc_c2_wordings")
    assert [base[name] for name in names] == pytest.approx([100**2 / 3, 100, 100 / 3, 250 / 3, 100, 200 / 3], rel=1e-3)
    assert [straight[name] for name in names] == [0, 0, 0, 100, 100, 100]
    train = run(tmp_path, "train", answer, made_items("bbq", 40)[20:], **asked, **base_facts)
    calibrate_main([str(train), str(bent), "--out", str(tmp_path / "cal"), "--pooled"])
    words = ("--calibrated", tmp_path / "cal" / "thresholds.json", "--variant", "v1, both_orders")
    d = scored(bent, *words, draws=100)["calibrated"]["deference"]
    assert d == -100  # thresholds for a bend that these wordings do not have


def test_the_best_free_rule_is_recommended_unless_a_training_adds_to_it(tmp_path):
    skills = CASES["skills"]
    runs = {name: run(tmp_path, name, margins_with(*of), MANY, verdict="margin") for name, of in skills.items()}

    def patched(prompt):
        return margins_with(1, 0.9 if prompt.factors.arm == "none" else 0.5)(prompt)

    def pulled(prompt):  # says 1 to everything
        own = margins_with(1, 0.9)(prompt)["answer_logprobs"]
        is_yes_first = prompt.factors.answer_order == "yes_first"
        noise = 0.6 * (number(prompt) * 7 % 5 - 2) * prompt.condition.is_dialogue
        return lean(5 + (own["1"] - own["2"] + noise) * (1 if is_yes_first else -1))

    arms, variants = ("none", "honest"), ({}, {"answer_order": "no_first"})
    runs["patched"] = run(tmp_path, "patched", patched, MANY, verdict="margin", arms=arms)
    runs["pulled"] = run(tmp_path, "pulled", pulled, MANY, verdict="margin", variants=variants)

    def card(base, *names):
        words = [str(runs[base]), *(f"{name}={runs[name]}" for name in names), "--margin=10", "--draws=100"]
        (made_card,) = load_cards(read_options("scorecard", words))[1].values()
        return made_card.best_free, made_card.ranking["recommended"]

    assert card("before", "worse") == card("before", "loses") == card("patched") == ("threshold", "threshold")
    assert card("before", "plain", "knows") == ("threshold", "knows")  # plain is the lowest
    assert card("even", "knows")[1] == "knows"
    names, reference = ("plain", "even", "worse", "loses", "knows"), "knows + threshold"
    words = [str(runs["before"]), *(f"{name}={runs[name]}" for name in names), "--draws=100", "--margin=10"]
    (many,) = load_cards(read_options("scorecard", [*words, "--reference", reference]))[1].values()
    assert {row: [*rows] for row, rows in many.against.items()} == {reference: [*names]}
    lines = many.texts(is_all=False)[1].splitlines()[2:5]  # of more than are printed
    assert [line.split()[0] for line in lines] == ["base", "knows", "threshold"]
    assert card("pulled")[0] == "both orders + threshold"  # not as asked: that is saturated
