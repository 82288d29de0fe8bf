"""What is doubtful about a dataset's items: counts and ids, never texts. Nothing is dropped for it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice

from evenhand.errors import DataError
from evenhand.markdown import table
from studies.dialdefer.records import Item
from studies.dialdefer.unified.quality_checks import CHECKS, REPEATS, Repeats
from studies.dialdefer.unified.token_lengths import Ruler, Tally, TokenLengths

FORMAT = 1  # of quality.json
BATCH = 512  # items tokenized at once
NOTE = (
    "Counts of items, by dataset; their ids are in quality.json. Nothing is dropped for a finding, except that items "
    "with an empty question or answer are left out of training. *a of b*: of the b items that the check concerns."
)
LONGER = "wrong longer"
LONGER_MEANS = (
    "how often the incorrect answer has more characters than the correct one, where they differ in length; far from "
    "50 %, a judge can tell right from wrong by length, and training teaches it to"
)


@dataclass(slots=True, kw_only=True)
class Finding:
    """The items of one dataset for which one check holds; filled by `examine`."""

    n_items: int = 0
    n_of: int = 0  # items that the check concerns
    ids: list[str] = field(default_factory=list)
    same_as: list[str] = field(default_factory=list)  # of repeats: for each id the earlier item

    def add(self, item_id: str, *same_as: str) -> None:
        """Enter one more item."""
        self.n_items += 1
        self.ids.append(item_id)
        self.same_as += same_as


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """The findings of one dataset."""

    dataset: str
    n_items: int
    findings: Mapping[str, Finding]  # keys of REPEATS and CHECKS
    n_correct_longer: int  # items whose correct answer has more characters than the incorrect one
    n_wrong_longer: int
    token_lengths: tuple[TokenLengths, ...]


def examine(items: Iterable[Item], rulers: Sequence[Ruler] = ()) -> Quality:
    """The findings of one dataset, read once and a few hundred items at a time.

    rulers: tokenizers in whose tokens the longest prompts are counted (`load_rulers`). Raises DataError when there are
    no items, or items of two datasets.
    """
    findings = {name: Finding() for name in (*REPEATS, *CHECKS)}
    tallies = [Tally(ruler) for ruler in rulers]
    repeats, datasets, longer, rest = Repeats(), Counter[str](), Counter[int](), iter(items)
    while batch := list(islice(rest, BATCH)):
        for item in batch:
            note(item, findings, repeats)
        for tally in tallies:
            tally.add(batch)
        datasets.update(item.dataset for item in batch)
        longer.update(sign(len(item.incorrect_answer) - len(item.correct_answer)) for item in batch)
    if len(datasets) != 1:
        raise DataError(f"items of {', '.join(sorted(datasets)) or 'no dataset'}; quality is told of one at a time")
    [(dataset, n_items)] = datasets.items()
    return Quality(
        dataset=dataset,
        n_items=n_items,
        findings=findings,
        n_correct_longer=longer[-1],
        n_wrong_longer=longer[1],
        token_lengths=tuple(tally.result() for tally in tallies),
    )


def sign(difference: int) -> int:
    """-1, 0 or 1."""
    return (difference > 0) - (difference < 0)


def note(item: Item, findings: Mapping[str, Finding], repeats: Repeats) -> None:
    """Enter one item into the findings."""
    earlier = repeats.look(item)
    for name in REPEATS:
        findings[name].n_of += 1
        if name in earlier:
            findings[name].add(item.item_id, earlier[name])
    for name, check in CHECKS.items():
        if not check.concerns(item):
            continue
        findings[name].n_of += 1
        if check.holds(item):
            findings[name].add(item.item_id)


def quality_record(qualities: Iterable[Quality]) -> dict[str, object]:
    """The content of quality.json: counts and ids by dataset and finding."""
    return {"format": FORMAT, "datasets": {quality.dataset: asdict(quality) for quality in qualities}}


def quality_text(qualities: Sequence[Quality]) -> str:
    """quality.md: a table of the findings, what each means, and the prompt lengths where tokenizers were named."""
    titles = {**{name: title for name, (title, _) in REPEATS.items()}, **{n: c.title for n, c in CHECKS.items()}}
    meanings = {**{name: said for name, (_, said) in REPEATS.items()}, **{n: c.meaning for n, c in CHECKS.items()}}
    rows = [
        [quality.dataset, f"{quality.n_items:,}", *(counted(quality, name) for name in titles), longer_share(quality)]
        for quality in qualities
    ]
    parts = [
        "# Quality of the items",
        NOTE,
        table(["dataset", "items", *titles.values(), LONGER], rows, n_words=1),
        "\n".join(
            [*(f"- **{titles[name]}**: {meanings[name]}." for name in titles), f"- **{LONGER}**: {LONGER_MEANS}."]
        ),
    ]
    measured = [(quality, found) for quality in qualities for found in quality.token_lengths]
    if measured:
        parts += ["## Prompt lengths", *length_parts(measured)]
    return "\n\n".join(parts) + "\n"


def counted(quality: Quality, name: str) -> str:
    """A finding's cell."""
    finding = quality.findings[name]
    if finding.n_of == quality.n_items:
        return f"{finding.n_items:,}"
    return f"{finding.n_items:,} of {finding.n_of:,}" if finding.n_of else "–"


def longer_share(quality: Quality) -> str:
    """How often the incorrect answer is the longer one."""
    n_unequal = quality.n_correct_longer + quality.n_wrong_longer
    return f"{100 * quality.n_wrong_longer / n_unequal:.0f} %" if n_unequal else "–"


def length_parts(measured: Sequence[tuple[Quality, TokenLengths]]) -> list[str]:
    """The section of prompt lengths."""
    first = measured[0][1]
    said = (
        f"Tokens of each item's longest prompt: C2 with the longer answer, template {first.template}, answer form "
        f"{first.answer_form}, chat template applied. *over*: items with more than {first.limit:,} tokens."
    )
    header = ["dataset", "tokenizer", "median", "90 %", "99 %", "longest", "over"]
    rows = [
        [quality.dataset, found.tokenizer, *(f"{n:,}" for n in found.quantiles.values()), f"{found.n_over:,}"]
        for quality, found in measured
    ]
    return [said, table(header, rows, n_words=2)]
