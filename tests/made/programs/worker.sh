#!/usr/bin/env bash
# Stands in for evenhand. Sampling does UNITS units of work and ends at SIGTERM. Other verbs are done at once.
trap 'exit 143' TERM
echo "${0##*/} $*" >> "$RUN_ROOT/calls"
case $1 in sample)
  work=$RUN_ROOT/$SLURM_JOB_NAME/$SLURM_ARRAY_TASK_ID
  mkdir -p "$work"
  while n=$(find "$work" -type f | wc -l) && [ "$n" -lt "$UNITS" ]; do
    sleep 1
    echo "${SLURM_RESTART_COUNT:-0}" > "$work/$n"
    touch "$EVENHAND_PROGRESS_FILE"
  done;;
esac
mkdir -p "$RUN_ROOT/made" && touch "$RUN_ROOT/made/DONE.json" && echo "$RUN_ROOT/made"
