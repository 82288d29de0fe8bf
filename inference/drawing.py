"""How one prompt's replies are drawn: as its run says, but for what the prompt says itself."""

from evenhand.records import Prompt
from inference.config import SamplingConfig


def drawn_as(prompt: Prompt, sampling: SamplingConfig) -> SamplingConfig:
    """The run's sampling settings with the prompt's own in their place, checked as a config's are."""
    drawing = prompt.drawing
    asked = {"temperature": drawing.temperature, "max_tokens": drawing.max_tokens, "n": drawing.n}
    own = {key: value for key, value in asked.items() if value is not None}
    return SamplingConfig.model_validate({**sampling.model_dump(), **own}) if own else sampling


def n_samples(prompt: Prompt, sampling: SamplingConfig) -> int:
    """How many replies a prompt gets."""
    return sampling.n if prompt.drawing.n is None else prompt.drawing.n
