#!/usr/bin/env bash
# Merge a training run's adapter into a standalone checkpoint and check it: merge.sh RUN|@FILE.
set -euo pipefail
. slurm/job.sh

read_words "$@"
# shellcheck disable=SC2086  # MERGE_OPTIONS holds several words
make_note evenhand merge "${words[@]}" $MERGE_OPTIONS
