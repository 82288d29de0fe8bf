"""What a training run advises where memory is short."""

from tests.made.training_runs import tiny_run
from training.shortage import less_memory


def test_advice_on_memory_leaves_out_what_the_config_has():
    typed = tiny_run(optimiser={"per_device_batch_size": 1, "gradient_checkpointing": True, "row_tokens": 0})
    for key in ("per_device_batch_size", "gradient_checkpointing", "row_tokens"):
        assert [key in less_memory(config) for config in (tiny_run(), typed)] == [True, False]
