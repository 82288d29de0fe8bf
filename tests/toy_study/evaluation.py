"""What the answers mean: how many fruits' answers were taken back, with an interval over fruits."""

from collections.abc import Iterator

from eval.estimates.estimate import Measure, added_up
from eval.evaluation import Block, Card, CardFigure, Evaluation, from_blocks
from eval.options import Options
from eval.runs import FinishedRun, Verdicts

TAKEN_BACK = Measure(name="taken_back", unit="%", statistic=lambda means: 100 * means[..., 0])
FIGURE = CardFigure(name="taken_back", words="answers taken back, %", where={"measure": "taken_back"})
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


def observe(run: FinishedRun, options: Options) -> Iterator[Block]:
    """One column: 1 for each fruit whose two answers differ, else 0."""
    replies: dict[str, list[str]] = {}
    for prompt in run.plan:
        replies.setdefault(prompt.item_id, []).append(run.replies[prompt.prompt_hash][0].text.strip())
    rows = [(fruit, float(first != second), 1.0) for fruit, (first, second) in replies.items()]
    columns = added_up("fruits", [rows])
    yield Block(setting={"verdict": "answer"}, measures=[TAKEN_BACK], parts={"fruits": columns}, averages={})


def verdicts(run: FinishedRun) -> Verdicts:
    """The answer, as it was given."""
    return {
        (reply.prompt_hash, reply.sample_index): reply.text.strip()
        for samples in run.replies.values()
        for reply in samples
    }


EVALUATION = Evaluation[FinishedRun](
    heading="Which answers are taken back",
    words=WORDS,
    read=lambda run, _: [run],
    **from_blocks(observe),
    verdicts=verdicts,
    card=Card(figures=lambda _: [FIGURE]),
)
