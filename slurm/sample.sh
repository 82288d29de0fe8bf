#!/usr/bin/env bash
# One shard of a sampling run: sample.sh CONFIG [key=value ...]. The array's tasks run from 0 to SAMPLE_SHARDS - 1.
set -euo pipefail
. slurm/job.sh

read_words "$@"
make_note evenhand sample "${words[@]}" run.root="$RUN_ROOT" --shard "${SLURM_ARRAY_TASK_ID:-0}/$SAMPLE_SHARDS"
