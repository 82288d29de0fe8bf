"""Times for a person."""

UNITS = (
    (1, "s", 90),
    (60, "min", 5400),
    (3600, "h", 172_800),
)  # seconds, name, from how many seconds on it is too small


def shown_seconds(n_seconds: float) -> str:
    """A time as somebody would say it: 45 s, 12 min, 3.4 h, 5 days."""
    for unit, name, most in UNITS:
        if n_seconds < most:
            number = n_seconds / unit
            return f"{number:.1f} {name}" if unit > 1 and number < 9.95 else f"{number:.0f} {name}"
    return f"{n_seconds / 86_400:.0f} days"
