"""The browser of a study in YAML: for each item what the judge said in every framing, beside the baseline."""

from collections.abc import Iterator, Mapping
from typing import Any

from eval.report.browser import Asked
from evenhand.completions import rendered_prompts
from evenhand.errors import EvenhandError
from studies.framing.asking import SWAPPED
from studies.framing.grids import FramedRun


def shows_texts(run: FramedRun) -> bool:
    """Whether a report may hold a run's texts, which tends to end up online: items of the user's own, or ours."""
    return run.path.is_dir() and all(source.dataset in (None, "pocket") for source in run.section.items)


def item_texts(run: FramedRun) -> dict[tuple[str, str], dict[str, str]]:
    """(dataset, item) → column → text, read again from the items; empty where they are gone or have changed."""
    try:
        if not shows_texts(run) or run.section.units(run.verdict).content_hash != run.provenance.get("item_set_hash"):
            return {}
        rows = run.section.rows
    except EvenhandError:
        return {}
    no_texts = (run.section.columns.id or "id", run.section.columns.group, "dataset")
    texts = [(row, {k: v for k, v in row.values.items() if isinstance(v, str) and k not in no_texts}) for row in rows]
    return {(row.dataset, row.item_id): columns for row, columns in texts}


def asked_by(runs: Mapping[str, FramedRun]) -> Iterator[Asked]:
    """Every reply of some runs: of each case and order the baseline's first, and flips from its answer."""
    for name, run in runs.items():
        is_open = shows_texts(run)
        read = rendered_prompts(run.path, run.replies) if is_open else {}
        values: dict[Any, float] = dict(zip(run.answers, run.values, strict=True))
        baseline: dict[tuple[Any, ...], str | None] = {}
        rows = [(dict(prompt.factors), prompt) for prompt in run.plan]
        rows.sort(key=lambda row: (row[0]["case"], row[0]["order"], row[1].condition != run.section.baseline))
        for factors, prompt in rows:
            case, order, label = (factors[name] for name in ("case", "order", "label"))
            for i, (reply, choice) in enumerate(
                zip(run.replies[prompt.prompt_hash], run.choices[prompt.prompt_hash], strict=True)
            ):
                answer = None if choice.place is None else factors["names"][choice.place]
                before = baseline.setdefault((prompt.dataset, prompt.item_id, case, order, i), answer)
                flip = f"{before} → {answer}" if answer and before and answer != before else ""
                if flip and run.section.scale:  # which has too many pairs to choose from
                    flip = "higher" if values[answer] > values[before] else "lower"
                yield Asked(
                    item_id=prompt.item_id,
                    dataset=prompt.dataset,
                    judge=name,
                    condition=prompt.condition,
                    setting=", ".join(filter(None, [case, order * (order == SWAPPED), f"sample {i}" * bool(i)])),
                    verdict=answer or choice.reading or choice.state,
                    is_right=None if None in (answer, label) else answer == label,
                    flip=flip,
                    reply=reply.text if is_open else None,
                    prompt=read.get(prompt.prompt_hash),
                )
