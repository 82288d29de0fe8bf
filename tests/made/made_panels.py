"""Panels and judges made up for tests, from arrays of replies or margins."""

from pathlib import Path

import numpy as np

from studies.dialdefer.measures import ACCEPT, REJECT, TIE, UNPARSED
from studies.dialdefer.panels import Panel, judge_of_files
from studies.dialdefer.records import Factors


def made_panel(replies, *, dataset="bbq", ids=None, clusters=None, margins=None, **factors):
    """A panel of replies (n_items, 4) or (n_items, 4, n_samples); ids are numbered unless given."""
    array = np.asarray(replies, dtype=np.int8)
    array = array[:, :, None] if array.ndim == 2 else array
    item_ids = tuple(ids or (f"{dataset}-{i:05}" for i in range(len(array))))
    return Panel(
        benchmark="dialdefer",
        dataset=dataset,
        factors=Factors(**factors),
        item_ids=item_ids,
        clusters=item_ids if clusters is None else tuple(clusters),
        replies=array,
        margins=np.full(array.shape, np.nan) if margins is None else np.asarray(margins, dtype=float)[:, :, None],
    )


def margin_panel(margins, **keys):
    """A panel of margins (n_items, 4) in nats, with the replies that they decide; NaN is unreadable."""
    array = np.asarray(margins, dtype=float)
    replies = np.select([array > 0, array < 0, array == 0], [ACCEPT, REJECT, TIE], UNPARSED)
    return made_panel(replies, margins=array, **keys)


def made_judge(*panels, model="owner/model", **facts):
    """A judge of these panels; facts: fields of JudgedRun."""
    return judge_of_files(Path("judge"), model, "strict", panels, **facts)


def random_replies(rng, n_items, accept):
    """Replies that accept at the given rates per condition, (n_items, 4)."""
    return np.where(rng.random((n_items, 4)) < np.asarray(accept), ACCEPT, REJECT).astype(np.int8)
