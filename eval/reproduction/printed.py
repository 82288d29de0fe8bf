"""What a re-run differs in, for the console."""

from collections.abc import Sequence

from eval.report.console import block, wrapped
from eval.report.shown_numbers import interval, number, signed
from eval.reproduction.compared import Reproduction
from eval.reproduction.flips import DifferingRate


def reproduction_text(found: Reproduction) -> str:
    """All of it."""
    parts = [
        wrapped(opening(found)),
        block("Replies that are not the same", rate_lines(found.replies)),
        block("Re-run flip rate: verdicts that differ", rate_lines(found.verdicts))
        if found.verdicts
        else "Re-run flip rate: none, since no reply of this run is a verdict",
        headline_text(found),
        wrapped(environment_lines(found)),
    ]
    return "\n\n".join(parts)


def opening(found: Reproduction) -> list[str]:
    """What was asked again, and how."""
    times = f"{len(found.reruns)} times: " if len(found.reruns) > 1 else "as "
    lines = [f"{found.run} asked again {times}{', '.join(found.reruns)}"]
    if found.n_units_asked < found.n_units:
        lines.append(
            f"Only {found.n_units_asked} of its {found.n_units} units were asked again, drawn by a fixed seed; its own "
            "figures below are over these, too"
        )
    if found.temperature > 0:
        lines.append(
            f"Sampled at temperature {found.temperature:g} with the config's seed: replies may differ by chance alone"
        )
    for name, n in found.n_other_prompts.items():
        if n:
            lines.append(
                f"{n} prompts were asked by {found.run} or {name} alone, as later prompts hang on earlier replies"
            )
    if found.largest_shift is not None:
        lines.append(f"Log-probabilities of answers moved by {found.largest_shift:.3g} nats at most")
    return lines


def rate_lines(rates: Sequence[DifferingRate]) -> list[list[str]]:
    """A line for each condition."""
    lines = [["condition", "prompts", "unread", "differ", "rate, %", "95% interval"]]
    for of in rates:
        n_differing = f"{of.n_differing:g}" if of.n_differing == int(of.n_differing) else f"{of.n_differing:.1f}"
        ends = [None if end is None else 100 * end for end in (of.low, of.high)]
        cells = [str(of.n_prompts), str(of.n_left_out), n_differing]
        shown = "–" if ends[0] is None or ends[1] is None else f"[{ends[0]:.1f}, {ends[1]:.1f}]"
        lines.append([of.condition, *cells, number(None if of.rate is None else 100 * of.rate), shown])
    return lines


def headline_text(found: Reproduction) -> str:
    """The figures on both sides."""
    if not found.headline:
        return wrapped([f"Headline estimates: none to hold against each other. {found.no_headline}"])
    lines = [["figure", "re-run", found_as(found), "again", "difference", "95% interval"]]
    for words, change in found.headline:
        digits = 1 if change.unit in ("%", "pp") else 2
        of = change.change
        values = [number(change.before.value, digits), number(change.after.value, digits), signed(of.value, digits)]
        lines.append([words, change.second, *values, interval(of.low, of.high, digits)])
    return block("Headline estimates, paired by unit", lines)


def found_as(found: Reproduction) -> str:
    """The head of the run's own column."""
    return "run" if found.n_units_asked == found.n_units else "run, same units"


def environment_lines(found: Reproduction) -> list[str]:
    """In what each re-run differs."""
    lines = []
    for name, differences in found.environment.items():
        if not differences:
            lines.append(f"Environment of {name}: nothing differs of code, packages, device, engine and model")
        lines += [
            f"{'Warning' if one.serious else 'Note'}: {one.what}: {one.base} then, {one.after} in {name}"
            for one in differences
        ]
    return lines
