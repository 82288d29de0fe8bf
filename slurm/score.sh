#!/usr/bin/env bash
# Score sampling runs, compare the first with the others, and put all on one card: score.sh BEFORE|@FILE [AFTER|@FILE ...].
set -euo pipefail
. slurm/job.sh

mapfile -t runs < <(given "$@")
for run in "${runs[@]}"; do
  # Where the file system shows files late, the two last shards may each have missed the other's; then this marks the
  # run complete, and it asks a model only if something is owed after all.
  [ -e "$run/DONE.json" ] || evenhand sample "$run/config.yaml"
done
evenhand score "${runs[@]}"
if [ ${#runs[@]} -gt 1 ]; then
  evenhand compare "${runs[@]}"
  evenhand scorecard "${runs[@]}"
fi
