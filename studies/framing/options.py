"""Framing's own options of `score` and `report`, for files of verdicts; options.yaml has their words."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FramingOptions:
    """What files of verdicts may leave open."""

    baseline: str | None = None
