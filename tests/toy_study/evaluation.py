"""What the answers mean: how many fruits' answers were taken back, with an interval over fruits."""

import argparse
from collections.abc import Iterator
from pathlib import Path

from eval.estimates.estimate import Measure, added_up
from eval.results import Block, CardFigure, Evaluation
from eval.runs import FinishedRun, Verdicts, load_finished

TAKEN_BACK = Measure(name="taken_back", unit="%", statistic=lambda means: 100 * means[..., 0])
WORDS = """
## scores
{% for row in results.scores[results.scores.measure == "taken_back"].itertuples() %}
{{ row.judge }} takes {{ row.value | number(0) }}% of its answers back {{ interval(row.low, row.high) }}.
{% endfor %}
## changes
{% for row in results.changes[results.changes.measure == "taken_back"].itertuples() %}
{{ row.second }}: {{ row.change | signed }} pp taken back {{ interval(row.change_low, row.change_high) }}.
{% endfor %}
"""


class ToyEval(Evaluation):
    """See eval.results.Evaluation."""

    heading = "Which answers are taken back"
    words = WORDS
    card_figures = (CardFigure(name="taken_back", words="answers taken back, %", where={"measure": "taken_back"}),)

    def observe(self, judge: FinishedRun, options: argparse.Namespace) -> Iterator[Block]:
        """One column: 1 for each fruit whose two answers differ, else 0."""
        replies: dict[str, list[str]] = {}
        for prompt in judge.plan:
            replies.setdefault(prompt.item_id, []).append(judge.replies[prompt.prompt_hash][0].text.strip())
        rows = [(fruit, float(first != second), 1.0) for fruit, (first, second) in replies.items()]
        columns = added_up("fruits", [rows])
        yield Block(setting={"verdict": "answer"}, measures=[TAKEN_BACK], parts={"fruits": columns}, averages={})

    def verdicts(self, path: Path) -> Verdicts:
        """The answer, as it was given."""
        replies = load_finished(path).replies.values()
        return {(reply.prompt_hash, reply.sample_index): reply.text.strip() for samples in replies for reply in samples}


EVALUATION = ToyEval()
