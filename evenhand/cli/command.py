"""`evenhand VERB ...`: one console command. What a verb needs is imported only when it is called."""

import sys
from collections.abc import Callable, Sequence

from evenhand.config import did_you_mean
from evenhand.terminal import run_main

VERBS = {
    "init": "a folder to start a study of your own from: config, items, commands",
    "show": "print the exact prompt a model would get for an item and condition",
    "keys": "every key of a config: its default, what it may be, what it does",
    "build": "write a dataset's items to a folder",
    "fetch": "bring a config's models to the cache, for nodes without internet",
    "doctor": "what would stop a job, and what memory and time it will take",
    "sample": "ask a model every prompt of a config; continues what was cut off",
    "export": "a config as a task of lm-eval or inspect, whose logs `score` reads",
    "train": "fine-tune with QLoRA: SFT, DPO, ours (on GPUs: accelerate launch -m training)",
    "merge": "merge a trained adapter into a standalone checkpoint, and check it",
    "status": "how far every run below a folder has come, and what is wrong there",
    "score": "measures with intervals, of sampling runs or of verdicts from anywhere",
    "compare": "before and after: changes with paired intervals, and a report",
    "report": "report.html of one run or several",
    "calibrate": "thresholds on margins: the mitigation without training",
    "scorecard": "a base and its arms, one row each: every study's figures, changes, cost",
    "annotate": "a CSV file in which people label what a judge said; and how well it agrees with them",
    "demo": "the whole loop on the embedded model: sample, train, merge, sample again, compare",
}


def entry_of(verb: str) -> Callable[[Sequence[str]], None]:
    """The function that takes a verb's words."""
    match verb:
        case "init":
            from evenhand.cli.init import main
        case "show":
            from evenhand.cli.show import main
        case "keys":
            from evenhand.cli.keys import main
        case "build":
            from evenhand.cli.build import main
        case "fetch":
            from evenhand.cli.fetch import main
        case "doctor":
            from evenhand.cli.doctor.command import main
        case "sample":
            from inference.__main__ import main
        case "export":
            from evenhand.cli.export import main
        case "train":
            from training.__main__ import main
        case "merge":
            from training.merge import main
        case "status":
            from evenhand.cli.status import main
        case "score":
            from eval.__main__ import score_main as main
        case "compare":
            from eval.__main__ import compare_main as main
        case "report":
            from eval.__main__ import report_main as main
        case "calibrate":
            from eval.__main__ import calibrate_main as main
        case "scorecard":
            from eval.__main__ import scorecard_main as main
        case "annotate":
            from eval.annotation.command import main
        case _:  # demo
            from evenhand.cli.demo import main
    return main


def usage() -> str:
    """The command's help text."""
    verbs = "\n".join(f"  {verb:<10}{purpose}" for verb, purpose in VERBS.items())
    return (
        "usage: evenhand VERB [arguments]\n\n"
        "Does a language-model judge bend to who is speaking? Measure it, train it out, measure again.\n\n"
        f"{verbs}\n\n"
        "`evenhand VERB --help` explains one verb. A config is a YAML file, or one that comes along:\n"
        "pocket, or FOLDER/NAME. key=value words override single keys."
    )


def main() -> None:
    """The console command."""
    words = sys.argv[1:]
    if not words or words[0] in ("-h", "--help", "help"):
        code = run_main(lambda _: print(usage(), flush=True), words)  # whose reader may be `head`
        sys.exit(code if words else 2)
    verb, arguments = words[0], words[1:]
    if verb == "reproduce":
        way = "`evenhand sample RUN/config.yaml name=again`, then `evenhand compare RUN AGAIN`, prints what differs"
        print(f"error: `evenhand reproduce` is no verb any more. {way}", file=sys.stderr)
        sys.exit(2)
    if verb not in VERBS:
        print(f"error: unknown verb '{verb}'. {did_you_mean(verb, list(VERBS))}", file=sys.stderr)
        sys.exit(2)
    sys.exit(run_main(entry_of(verb), arguments))
