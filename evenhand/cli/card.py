"""`evenhand card RUN [NAME=]ARM_RUN...`: a judge's datasheet, one page in Markdown with the Hub's metadata."""

import shlex
from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from eval.__main__ import read_options
from eval.runs import runs_by_study
from evenhand.config import read_yaml
from evenhand.errors import DataError
from evenhand.files import write_whole
from evenhand.run_directory import CONFIG_FILE, PROVENANCE_FILE, read_json
from evenhand.terminal import say
from studies.markdown import filled

TEMPLATE = Path(__file__).with_name("card.md.j2")


def main(argv: Sequence[str]) -> None:
    """Write what a judge is, what it was asked, how far it bends, what undoes that, and what was trained."""
    options = read_options("card", argv)
    # These load pandas, which --help does without.
    from eval.publishing import handed_rows, write_card
    from eval.report.tables import markdown, markdown_text
    from eval.results import results_of_runs
    from eval.scorecard.arms import BASE
    from eval.scorecard.rows import load_cards

    (base,) = options.sources
    (study,) = runs_by_study([base])
    out = options.out or base / "JUDGE.md"
    if out.is_dir() or out.suffix != ".md":
        raise DataError(f"--out {out}: name a file that ends in .md")
    results = results_of_runs(study, [base], options)
    card = results.evaluation.card
    has_rows = card and (options.arms or card.rules(results.judges[results.base], options))
    cards = [*load_cards(options)[1].values()] if has_rows else []
    of_arms = [line for card in cards for line in card.warnings if not line.startswith(f"{BASE}: ")]  # said above
    page = filled(
        TEMPLATE,
        results=results,
        study=study,
        run=base.name,
        config=read_yaml(base / CONFIG_FILE),
        provenance=read_json(base / PROVENANCE_FILE),
        cards=cards,
        has_arms=bool(options.arms),
        warnings=[*results.warnings, *of_arms],
        words="".join(f" {shlex.quote(word)}" for word in argv),
        version=version("evenhand"),
        text=markdown_text,
        table=markdown,
    )
    if find_spec("huggingface_hub"):
        write_whole(out, f"---\n{{}}\n---\n{page}")  # ModelCard fills the braces
        write_card(out, handed_rows(results))
    else:
        write_whole(out, page)
        say("Note: it is without the Hub's metadata, which `pip install 'evenhand[data]'` would write.")
    say(str(out))
