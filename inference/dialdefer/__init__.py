"""DialDefer's part of inference: the stages of r/AIO's construction that ask a model, and their command."""
