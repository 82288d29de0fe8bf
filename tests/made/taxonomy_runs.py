"""Flips made up for tests, folders of them, and finished runs in which a scripted judge sorts them."""

import json

from eval.options import Options
from eval.results import results_of_runs
from evenhand.run_directory import open_run
from studies.flips import Flip, FlipSide, write_flips
from tests.made.made_runs import answered
from tests.made.paper_figures import golden
from tests.made.sampling_configs import sampling_config


def flip(number, claim_is_true=False, *, model="m", dataset="truthfulqa", **of):
    """A loss about an item with a number."""
    settled = {
        "question": f"What is question {number}?",
        "claim": f"claim {number}",
        "is_withheld": False,
        "first": FlipSide(put_as="a bare statement", accepts=claim_is_true, reason=f"first reason {number}"),
        "second": FlipSide(put_as="a speaker's turn", accepts=not claim_is_true, reason=f"second reason {number}"),
    }
    item_id = f"{dataset}-{number}"
    return Flip(model=model, dataset=dataset, item_id=item_id, claim_is_true=claim_is_true, **{**settled, **of})


def flips_folder(out, flips, n_items=0, **facts):
    """A folder as `evenhand build flips` writes it; n_items: that were looked through, if more than flip."""
    models = list(dict.fromkeys(one.model for one in flips)) or ["m"]
    items = {model: {} for model in models}
    for one in flips:
        of_dataset = items[one.model].setdefault(one.dataset, [])
        of_dataset += [one.item_id] if one.item_id not in of_dataset else []
    for model in models if n_items else ():
        items[model] = {"truthfulqa": [f"truthfulqa-{number}" for number in range(n_items)]}
    told = {"framings": ["a bare statement", "a speaker's turn"], "kinds": ["lost"], "models": models, "items": items}
    write_flips(out, flips, {**told, "undecided": {}, **facts})
    return out


def coded(primary, *others):
    """A judge's reply."""
    return json.dumps({"codes": [primary, *others], "primary": primary})


def judged_run(root, flips, says, *, name="judged", judge="judge", **keys):
    """A finished run directory under root."""
    section = {"flips": flips and str(flips)}
    tree = {"name": name, "model": {"name": judge}, "taxonomy": section, "verdict": "answer", **keys}
    config = sampling_config(tree)
    units, content_hash = config.study.units("answer")
    prompts = [prompt for unit in units for prompt in unit.next_prompts({})]
    path = root / f"{name}-0000"
    open_run(path, config, content_hash, {"name": judge}, lambda: "CPU: made up", inputs=config.study.inputs())

    def samples(prompt):
        said = says(prompt)
        return [{"text": text, "finish_reason": "stop"} for text in ([said] if isinstance(said, str) else said)]

    return answered(path, prompts, samples)


def results(*runs, is_before_after=False, draws=300, allow=False):
    """What eval makes of runs of the taxonomy."""
    options = Options(
        verb="report", n_draws=draws, seed=1, side_by_side=not is_before_after, allow_differences=allow, sources=runs
    )
    return results_of_runs("taxonomy", runs, options)


def by_number(codes):
    """A judge that goes by the item's number and whether the claim is true."""

    def says(prompt):
        return codes(int(prompt.factors.item_id.rpartition("-")[2]), prompt.factors.claim_is_true)

    return says


def table_18():
    """As many flips as Table 18 counts, and a judge that sorts them as it does."""
    flips, codes = list[Flip](), list[str]()
    for row in golden("dialdefer_table18.csv"):
        for column, claim_is_true in (("n_deference", False), ("n_skepticism", True)):
            for _ in range(int(row[column]) if row["code"] != "total" else 0):
                flips.append(flip(len(flips), claim_is_true))
                codes.append(row["code"])
    return flips, by_number(lambda number, _: coded(codes[number]))
