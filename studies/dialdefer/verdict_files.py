"""Verdicts from anywhere: files → judges with panels → scores. A million rows never become a million objects."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from eval.runs import reading_shares
from eval.verdict_files import NO, Absent, Column, Layout, as_id, one_of, place, read_rows, refuse, texts_in
from evenhand.errors import DataError
from evenhand.sources.record_fields import shown
from studies.dialdefer.datasets import DATASET_NAMES
from studies.dialdefer.measures import ABSENT, ACCEPT, C1, C2, CONDITIONS, ERROR, PARSERS, REJECT, UNPARSED
from studies.dialdefer.panels import EXTERNAL, MAIN_ROLES, JudgedRun, Panel, check_same_items, judge_of_files, named
from studies.dialdefer.records import BENCHMARK, OWN_ITEMS, Factors
from studies.dialdefer.render import AIO_DATASETS, own_labels
from studies.units import table_name

ARM_NONE = "none"
LONGEST_NAME = 200
GROUP = ["model", "dataset", "arm", "roles"]  # what a panel is of
TEXTS = [*GROUP, "item_id", "condition", "cluster"]
# The authors' files and ids say halueval_qa, harp_mcq and harp_mc; the paper says R/AIO.
OTHER_SPELLINGS = {"haluevalqa": "halueval", "harpmc": "harp", "harpmcq": "harp", "raio": "aio"}
# A whole number written as a fraction is what pandas makes of a column that has nulls.
CHOICES: dict[Any, int] = {None: UNPARSED, Absent.FIELD: UNPARSED} | dict.fromkeys((1, "1", "1.0"), ACCEPT)
CHOICES |= dict.fromkeys((2, "2", "2.0"), REJECT)
CHOICE_TYPES = (int, float, str, type(None), Absent)


def squeezed(text: str) -> str:
    """In lower case without separators: "HaluEval_QA" and "halueval-qa" become one."""
    return text.casefold().translate(str.maketrans("", "", "-_ /"))


def one_line(text: str) -> str:
    """The text. Raises DataError where it is not a name."""
    if not text.isprintable() or len(text) > LONGEST_NAME:
        raise DataError(f"must be a name on one line of at most {LONGEST_NAME} characters, found {shown(text)}")
    return text


DATASETS = tuple(sorted(dataset for dataset in DATASET_NAMES if dataset != "unified"))  # `unified` is many
BENCHMARK_OF = {**dict.fromkeys(DATASETS, BENCHMARK), "pocket": "pocket"}
DATASET_OF = {squeezed(dataset): dataset for dataset in DATASETS} | OTHER_SPELLINGS


def dataset_named(text: str) -> str:
    """A known dataset in any spelling, or one of the user's own by its name."""
    return DATASET_OF.get(squeezed(text)) or table_name(one_line(text))


LAYOUT = Layout(
    columns={  # docs/verdict-files.md says what they hold
        "model": Column(one_line, True),
        "dataset": Column(dataset_named, True),
        "item_id": Column(lambda text: one_line(as_id(text)), True),
        "condition": Column(one_of([*map(str, CONDITIONS)], squeezed), True),
        "choice": Column(),
        "response": Column(),
        "arm": Column(lambda text: ARM_NONE if text.casefold() == ARM_NONE else one_line(text), default=ARM_NONE),
        "roles": Column(
            one_of(("2->1", "1->2"), lambda text: text.replace(" ", "").replace("→", "->")), default=MAIN_ROLES
        ),
        "label": Column(),
        "error": Column(),
        "benchmark": Column(str, default=""),
        "cluster": Column(lambda text: one_line(as_id(text)), default=""),
    },
    choice="choice",
    response="response",
)
LABEL = Column(one_of(("OR", "NOR"), str.upper), default="")


def load_external(paths: Sequence[Path], parser: str = "strict") -> tuple[dict[str, JudgedRun], list[str]]:
    """(model → its judge, of some files taken together, in order of first appearance; the columns without a meaning
    here). `parser` reads responses where there is no choice.

    An arm that lacks a framing on a dataset is left out there, and named. Raises DataError for whatever else is wrong:
    with a row, naming file and line; with the whole, naming the items; and for such an arm where nothing else is left.
    """
    rows, ignored = read_rows(paths, LAYOUT, partial(read_replies, parser=parser))
    given = rows[["dataset", "item_id"]].drop_duplicates()
    keys = [*map(item_key, given["dataset"], given["item_id"])]  # spellings of one id are one item
    codes, items = pd.factorize(np.array(keys, dtype=object), sort=True)
    of_given = rows.groupby(["dataset", "item_id"], sort=False, observed=True).ngroup()
    rows["item"] = pd.Categorical.from_codes(codes[of_given], items)
    key = [*GROUP, "item", "condition"]
    for number in rows.index[rows.duplicated(key)][:1]:  # neither is better, also where they agree
        row, first = rows.loc[number], rows.index[(rows[key] == rows.loc[number, key]).all(axis=1)][0]
        where = f"model '{row.model}', {row.dataset}, item '{row['item']}', {row.condition}, arm {row.arm}"
        where += f", roles {row.roles} does not go with {place(paths, first)}"
        raise DataError(f"{place(paths, number)}: {where}; keep one row for a key")
    if (is_named := rows["cluster"] != "").any():  # a cluster of an item, in whichever of its rows
        clusters = rows["cluster"].astype(object).where(is_named)
        of_items = clusters.groupby([rows["dataset"], rows["item"]], observed=True)
        rows["cluster"] = of_items.transform("first").fillna("")
        for row in rows[is_named & (clusters != rows["cluster"])][:1].itertuples():
            problem = f"item '{row.item}' of {row.dataset} is in cluster '{row.cluster}' in a row before; keep one"
            raise DataError(f"{place(paths, row.Index)}: field 'cluster' names another one: {problem}")
    is_parsed = rows.groupby("model", observed=True)["parsed"].any()
    path = paths[0].with_name(paths[0].name + f" and {len(paths) - 1} more" * (len(paths) > 1))
    judges = dict[str, JudgedRun]()
    for model, panels, labels in models_in(rows):
        reasons = [unscorable(panel, panels, model) for panel in panels]
        kept = [panel for panel, reason in zip(panels, reasons, strict=True) if not reason]
        left_out = [*filter(None, reasons)]
        if not kept:
            raise DataError(left_out[0])
        how, of_model = parser if is_parsed[model] else None, rows[rows["model"] == model]
        n_read = of_model.groupby(["condition", "read"], sort=False, observed=True).size()
        readings = [*reading_shares(n_read.to_dict())]
        facts = {"labels": labels, "left_out": left_out, "readings": readings}
        judges[model] = judge_of_files(path, model, how, kept, **facts)
    return judges, ignored


def item_key(dataset: str, item_id: str) -> str:
    """One text for all spellings of an item's id: a prefix that spells the dataset's name is written in one way.

    "halueval_qa-3" and "halueval-qa-3" are one item of halueval, "harp_mcq-1967-AHSME-35" and "harp_mc-1967-AHSME-35"
    one of harp, "aio-1oh8hfn" and "1oh8hfn" one of aio. An id without such a prefix stands for itself.
    """
    for end in reversed([i for i, c in enumerate(item_id[:24]) if c in "-_"]):
        rest = item_id[end + 1 :]
        if rest and DATASET_OF.get(squeezed(item_id[:end])) == dataset:
            return rest if dataset in AIO_DATASETS else f"{dataset}-{rest}"
    return item_id


def read_replies(frame: pd.DataFrame, parser: str) -> pd.DataFrame:
    """The rows with `reply` (codes as in Panel), `parsed` (whether read here), `read` (how, or why not) and `label`.

    A null choice is an unparsed reply; a row with an error has no reply.
    """
    given = [choice.strip() if isinstance(choice, str) else choice for choice in frame["choice"].tolist()]
    is_bad = (type(choice) not in CHOICE_TYPES or choice not in CHOICES for choice in given)
    refuse(frame["choice"], is_bad, "must be 1, 2 or null, found {}")
    reply = np.fromiter(map(CHOICES.__getitem__, given), np.int8)
    absent, errors = Absent.FIELD, frame["error"].tolist()
    failed = np.array([e is not absent and str(e).strip().casefold() not in NO for e in errors], np.bool_)
    conflict = "says that there was no reply, yet the row has a choice; keep one of them"
    refuse(frame["error"], failed & (reply > UNPARSED), conflict)
    parsed = np.array([choice is absent for choice in given]) & ~failed
    parsed_rows = frame[parsed]
    nothing = (text is None or text is Absent.FIELD for text in parsed_rows["response"])
    fix = "write null as the choice of an unparsed reply, or why there is no reply into `error`"
    refuse(parsed_rows["choice"], nothing, f"is absent, and so is a response to read it from; {fix}")
    is_bad = (not isinstance(text, str) for text in parsed_rows["response"])
    refuse(parsed_rows["response"], is_bad, "must be a text, found {}")
    reply[parsed] = [CHOICES[PARSERS[parser](text)] for text in parsed_rows["response"]]
    is_choice = reply > UNPARSED
    how = {"error": failed, parser: parsed & is_choice, "unparsed": parsed, "given": is_choice}
    read = pd.Categorical.from_codes(np.select([*how.values()], range(4), 4), [*how, "given null"])
    reply[failed] = ERROR
    label, is_aio = np.full(len(frame), "", dtype=object), frame["dataset"].isin(AIO_DATASETS)
    label[is_aio] = texts_in(frame["label"][is_aio], LABEL)  # not of other datasets
    texts = {"label": label, **{name: frame[name].to_numpy() for name in TEXTS}}
    coded = {name: pd.Categorical.from_codes(*pd.factorize(values)) for name, values in texts.items()}
    return pd.DataFrame({**coded, "reply": reply, "parsed": parsed, "read": read})


def models_in(rows: pd.DataFrame) -> Iterator[tuple[str, list[Panel], dict[str, str]]]:
    """(model, its panels, the labels of its items). Models and datasets keep their order; what was asked first in a run
    comes first here: the main roles, and in them the untreated arm. Raises DataError for holes, and for arms over
    unequal items."""
    panels: dict[str, list[Panel]] = {model: [] for model in rows["model"].cat.categories}
    for key, group in sorted(  # stable: groups come in the order of first appearance of their parts
        rows.groupby(GROUP, observed=True), key=lambda group: (group[0][3] != MAIN_ROLES, group[0][2] != ARM_NONE)
    ):
        panels[key[0]].append(panel_of_rows(group, *key))
    labels_of = rows[rows["label"] != ""].groupby(["dataset", "item"], observed=True)["label"]
    if two := [item for (_, item), n in labels_of.nunique().items() if n > 1]:
        raise DataError(f"{named(two)} two labels; the community's verdict is one")
    labels = labels_of.first()
    for model, of_model in panels.items():
        references: dict[tuple[str, str], Panel] = {}
        for panel in sorted(of_model, key=lambda panel: panel.factors.arm != ARM_NONE):
            reference = references.setdefault((panel.dataset, panel.roles), panel)
            arms = f"arm {reference.factors.arm} against arm {panel.factors.arm}"
            check_same_items(f"model '{model}', {panel.dataset}, roles {panel.roles}, {arms}", reference, panel)
        keys = {(p.dataset, item) for p in of_model if p.dataset in AIO_DATASETS for item in p.item_ids}
        yield model, of_model, {item: label for (data, item), label in labels.items() if (data, item) in keys}


def panel_of_rows(group: pd.DataFrame, model: str, dataset: str, arm: str, roles: str) -> Panel:
    """The panel of the rows of one group, with a run's factors: only r/AIO's name the main roles."""
    codes, position = np.unique(group["item"].cat.codes, return_inverse=True)
    items = group["item"].cat.categories[codes].tolist()
    column = pd.Index([*map(str, CONDITIONS)]).get_indexer(group["condition"])
    shape = (len(items), len(CONDITIONS), 1)
    replies = np.full(shape, ABSENT, dtype=np.int8)
    replies[position, column, 0] = group["reply"]
    for pair in (C1, C2):  # a framing is asked for all items, or for none
        holes = np.argwhere(replies[:, pair, 0] == ABSENT)
        if 0 < len(holes) < 2 * len(items):
            lacking = named([items[row] for row, column in holes if column == holes[0][1]])
            where = f"model '{model}', {dataset}, arm {arm}, roles {roles}"
            raise DataError(f"{where}: {lacking} no verdict for {CONDITIONS[pair[holes[0][1]]]}; both are needed")
    clusters = np.array(items, dtype=object)
    is_named = (group["cluster"] != "").to_numpy()
    clusters[position[is_named]] = "cluster " + group["cluster"][is_named].astype(object)
    speaker1, speaker2 = own_labels(dataset, arm)
    asked_roles = roles if dataset in AIO_DATASETS or roles != MAIN_ROLES else ""
    return Panel(
        benchmark=BENCHMARK_OF.get(dataset, OWN_ITEMS),
        dataset=dataset,
        factors=Factors(arm=arm, roles=asked_roles, template=EXTERNAL, speaker1=speaker1, speaker2=speaker2),
        item_ids=tuple(items),
        clusters=tuple(clusters),
        replies=replies,
        margins=np.broadcast_to(np.nan, shape),  # takes no memory: nobody has given any
    )


def unscorable(panel: Panel, panels: Sequence[Panel], model: str) -> str:
    """Why no shift can be scored in one of a model's panels: an arm without dialogues, or without statements to hold
    them against, its own or those of arm `none`; "" where one can.

    Arm `none` may have statements only, if another arm has the dialogues.
    """
    alike = [p for p in panels if (p.dataset, p.roles) == (panel.dataset, panel.roles)]
    has_c1 = panel.has_c1 or any(p.has_c1 for p in alike if p.factors.arm == ARM_NONE)
    has_c2 = panel.has_c2 or (panel.factors.arm == ARM_NONE and any(p.has_c2 for p in alike))
    if has_c1 and has_c2:
        return ""
    lacks = "c2_correct and c2_incorrect" if has_c1 else "c1_true and c1_false, nor has arm none"
    arm = f"model '{model}', {panel.dataset}, arm {panel.factors.arm}, roles {panel.roles}"
    return f"{arm}: {named(panel.item_ids)} no verdicts for {lacks}; there is no shift to score"
