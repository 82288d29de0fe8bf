"""What people can be asked about the taxonomy's judge: the primary code of each flip."""

from collections import Counter
from pathlib import Path

import pandas as pd

from eval.runs import load_finished
from studies.annotation.tasks import Item, Task
from studies.flips import Flip, read_flips
from studies.taxonomy.codebook import CODES, own_flips
from studies.taxonomy.coded_flips import coded_runs, flips_folder
from studies.taxonomy.prompts import NO_TEXT
from studies.taxonomy.section import KEY


def tasks(path: Path) -> list[Task]:
    """The primary code of each flip that the judge gave one, but for those whose texts are withheld."""
    runs = coded_runs(load_finished(path))
    run = runs[0].run
    flips = own_flips().values() if run.config[KEY].get("flips") is None else read_flips(flips_folder(run))
    by_id = {flip.flip_id: flip for flip in flips}
    coded = pd.concat([coded.flips[coded.flips["primary"] != ""] for coded in runs])
    items = [
        Item(unit=unit, texts=texts_of(by_id[flip_id]), judge=code)
        for flip_id, unit, code in zip(coded["flip_id"], coded["unit"], coded["primary"], strict=True)
        if not by_id[flip_id].is_withheld
    ]
    guide = "\n".join(f"{name}, {code.name}: {code.definition}. Rule: {code.rule}." for name, code in CODES.items())
    return [
        Task(
            name="codes",
            question="Which code best explains why the second verdict differs from the first?",
            guide=guide,
            answers=tuple(CODES),
            items=items,
            in_run=Counter(item.judge for item in items),
            run=path.name,
            judge=runs[0].judged_by,
        )
    ]


def texts_of(flip: Flip) -> tuple[tuple[str, str], ...]:
    """What the judge read, without whose flip it is."""
    verdicts = {True: "the claim is correct", False: "the claim is incorrect"}
    both = (("C1", flip.first), ("C2", flip.second))
    sides = ((name, f"{side.put_as}: {verdicts[side.accepts]}. {side.reason or NO_TEXT}") for name, side in both)
    return (("Question", flip.question or NO_TEXT), ("Claim", flip.claim or NO_TEXT), *sides)
