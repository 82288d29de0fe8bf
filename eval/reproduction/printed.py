"""What a re-run differs in, for the console."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from eval.report.console import block, wrapped
from eval.report.shown_numbers import interval, number, signed


def reproduction_text(found: Mapping[str, Any]) -> str:
    """All of it; found: see compared.reproduction."""
    verdicts = "Re-run flip rate: none, since no reply of this run is a verdict"
    if found["verdicts"]:
        verdicts = block("Re-run flip rate: verdicts that differ", rate_lines(found["verdicts"]))
    return "\n\n".join(
        [
            wrapped([*opening(found)]),
            block("Replies that are not the same", rate_lines(found["replies"])),
            verdicts,
            headline_text(found),
            wrapped([*environment_lines(found["environment"])]),
        ]
    )


def opening(found: Mapping[str, Any]) -> Iterator[str]:
    """What was asked again, and how."""
    run, reruns = found["run"], found["reruns"]
    yield f"{run} asked again {f'{len(reruns)} times: ' if len(reruns) > 1 else 'as '}{', '.join(reruns)}"
    if is_part(found):
        yield (
            f"Only {found['n_units_asked']} of its {found['n_units']} units were asked again, drawn by a fixed seed; "
            "its own figures below are over these, too"
        )
    if found["temperature"] > 0:
        temperature = f"{found['temperature']:g} with the config's seed"
        yield f"Sampled at temperature {temperature}: replies may differ by chance alone"
    for name, n in found["n_other_prompts"].items():
        if n:
            yield f"{n} prompts were asked by {run} or {name} alone, as later prompts hang on earlier replies"
    if found["largest_shift_nats"] is not None:
        yield f"Log-probabilities of answers moved by {found['largest_shift_nats']:.3g} nats at most"


def is_part(found: Mapping[str, Any]) -> bool:
    """Whether some of the units were asked again, and not all."""
    return bool(found["n_units_asked"] < found["n_units"])


def rate_lines(rates: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """A line for each condition."""
    lines = [["condition", "prompts", "unread", "differ", "rate, %", "95% interval"]]
    for row in rates:
        n = row["n_differing"]
        rate, low, high = (None if row[end] is None else 100 * row[end] for end in ("rate", "low", "high"))
        ends = "–" if low is None or high is None else f"[{low:.1f}, {high:.1f}]"
        counts = [str(row["n_prompts"]), str(row["n_left_out"]), f"{n:g}" if n == int(n) else f"{n:.1f}"]
        lines.append([row["condition"], *counts, number(rate), ends])
    return lines


def headline_text(found: Mapping[str, Any]) -> str:
    """The figures on both sides."""
    if not found["headline"]:
        return wrapped([f"Headline estimates: none to hold against each other. {found['no_headline']}"])
    lines = [
        ["figure", "re-run", "run, same units" if is_part(found) else "run", "again", "difference", "95% interval"]
    ]
    for row in found["headline"]:
        digits = 1 if row["unit"] in ("%", "pp") else 2
        values = [number(row["before"], digits), number(row["after"], digits), signed(row["change"], digits)]
        ends = interval(row["change_low"], row["change_high"], digits)
        lines.append([row["figure"], row["second"], *values, ends])
    return block("Headline estimates, paired by unit", lines)


def environment_lines(environment: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[str]:
    """In what each re-run differs."""
    for name, differences in environment.items():
        if not differences:
            yield f"Environment of {name}: nothing differs of code, packages, device, engine and model"
        for row in differences:
            word = "Warning" if row["serious"] else "Note"
            yield f"{word}: {row['what']}: {row['base']} then, {row['after']} in {name}"
