#!/usr/bin/env bash
# Score sampling runs, and compare the first with each of the others: score.sh BEFORE|@FILE [AFTER|@FILE ...].
set -euo pipefail
. slurm/job.sh

mapfile -t runs < <(given "$@")
for run in "${runs[@]}"; do
  # Where the file system shows files late, the two last shards may each have missed the other's; then this marks the
  # run complete, and it asks a model only if something is owed after all.
  [ -e "$run/DONE.json" ] || evenhand sample "$run/config.yaml"
done
evenhand score "${runs[@]}"
for after in "${runs[@]:1}"; do
  evenhand compare "${runs[0]}" "$after"
done
