"""The page on which a person labels: one HTML file that loads nothing, with its items as data."""

from typing import Any

from eval.annotation.label_files import FORMAT
from eval.annotation.tasks import Draw
from eval.report.page import TEMPLATES


def page_html(draw: Draw) -> str:
    """The page. Only its script, which the policy names, runs; texts of others are data to it."""
    page = TEMPLATES.get_template("annotation.html")
    return page.render(task=draw.task, digest=draw.digest, data=page_data(draw))


def page_data(draw: Draw) -> dict[str, Any]:
    """What the page's script reads. Of an item it is what is shown; the judge's answer is not in it."""
    task = draw.task
    return {
        "made_from": {
            "format": FORMAT,
            "runs": task.runs,
            "what": task.name,
            "n": draw.n,
            "seed": draw.seed,
            "digest": draw.digest,
        },
        "answers": task.answers,
        "is_comparison": task.is_comparison,
        "items": [{"id": item.item_id, "texts": item.texts} for item in draw.items],
    }
