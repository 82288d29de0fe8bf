"""What a re-run differs in, for the console."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from eval.report.tables import aligned, interval, number, printed, signed, wrapped


def reproduction_text(result: Mapping[str, Any]) -> str:
    """All of it; result: see compared.reproduction."""
    verdicts = "Re-run flip rate: none, since no reply of this run is a verdict"
    if result["verdicts"]:
        verdicts = rates_text("Re-run flip rate: verdicts that differ", result["verdicts"])
    replies = rates_text("Replies that are not the same", result["replies"])
    environment = wrapped([*environment_lines(result["environment"])])
    return "\n\n".join([wrapped([*opening(result)]), replies, verdicts, headline_text(result), environment])


def opening(result: Mapping[str, Any]) -> Iterator[str]:
    """What was asked again, and how."""
    run, reruns = result["run"], result["reruns"]
    yield f"{run} asked again {f'{len(reruns)} times: ' if len(reruns) > 1 else 'as '}{', '.join(reruns)}"
    if result["n_units_asked"] < result["n_units"]:
        drawn = (
            f"Only {result['n_units_asked']} of its {result['n_units']} units were asked again, drawn by a fixed seed"
        )
        yield f"{drawn}; its own figures below are over these, too"
    if (temperature := result["temperature"]) > 0:
        yield f"Sampled at temperature {temperature:g} with the config's seed: replies may differ by chance alone"
    for name, n in result["n_other_prompts"].items():
        if n:
            yield f"{n} prompts were asked by {run} or {name} alone, as later prompts hang on earlier replies"
    if result["largest_shift_nats"] is not None:
        yield f"Log-probabilities of answers moved by {result['largest_shift_nats']:.3g} nats at most"


def rates_text(title: str, rates: Sequence[Mapping[str, Any]]) -> str:
    """A line for each condition."""
    lines = [["condition", "prompts", "unread", "differ", "rate, %", "95% interval"]]
    for row in rates:
        rate, *ends = (None if row[end] is None else 100 * row[end] for end in ("rate", "low", "high"))
        counts = [str(row["n_prompts"]), str(row["n_left_out"]), f"{round(row['n_differing'], 1):g}"]
        lines.append([row["condition"], *counts, number(rate), printed(tuple(ends), ".1f")])
    return "\n".join([title, *aligned(lines)])


def headline_text(result: Mapping[str, Any]) -> str:
    """The figures on both sides."""
    if not result["headline"]:
        return wrapped([f"Headline estimates: none to hold against each other. {result['no_headline']}"])
    base = "run, same units" if result["n_units_asked"] < result["n_units"] else "run"
    lines = [["figure", "re-run", base, "again", "difference", "95% interval"]]
    for row in result["headline"]:
        digits = 1 if row["unit"] in ("%", "pp") else 2
        values = [number(row["before"], digits), number(row["after"], digits), signed(row["change"], digits)]
        lines.append([row["figure"], row["second"], *values, interval(row["change_low"], row["change_high"], digits)])
    return "\n".join(["Headline estimates, paired by unit", *aligned(lines)])


def environment_lines(environment: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[str]:
    """In what each re-run differs."""
    for name, differences in environment.items():
        if not differences:
            yield f"Environment of {name}: nothing differs of code, packages, device, engine and model"
        for row in differences:
            word = "Warning" if row["serious"] else "Note"
            yield f"{word}: {row['what']}: {row['base']} then, {row['after']} in {name}"
