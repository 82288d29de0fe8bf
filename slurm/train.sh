#!/usr/bin/env bash
# Train an arm by its config: train.sh CONFIG [key=value ...]. Continues from the last checkpoint when it was cut off.
set -euo pipefail
. slurm/job.sh

several=() # said aloud, since a user's own accelerate config may say the opposite
if [ "$TRAIN_GPUS" -gt 1 ]; then several=(--multi_gpu); fi
accelerate launch "${several[@]}" --num_processes "$TRAIN_GPUS" --num_machines 1 --main_process_port 0 --mixed_precision no \
  --dynamo_backend no -m training "$@" run.root="$RUN_ROOT"
# Complete by now, so this only prints where it lies.
make_note evenhand train "$@" run.root="$RUN_ROOT"
