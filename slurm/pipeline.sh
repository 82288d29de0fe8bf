#!/usr/bin/env bash
# The whole loop: sample the base model; train, merge and sample every arm; score, compare, and one card for all.
#
#   slurm/pipeline.sh SAMPLING_CONFIG TRAINING_CONFIG...
#
# An arm is called by its config's name: configs/training/qwen2.5-7b-paired.yaml is qwen2.5-7b-paired.
# The sampling config must ask for margins (configs/inference/*-margin.yaml): a checkpoint trained on one-token verdicts
# no longer writes the JSON that reasoned verdicts are read from.
# Run it in the checkout on the login node, where `evenhand fetch` brings models and data to the cache (FETCH=0 leaves
# that out). DRY_RUN=1 prints the commands. Resources and paths: slurm/settings.sh. After a failure, the same command
# again: what is complete is left as it is.
set -euo pipefail
# shellcheck source=slurm/submit.sh
. "$(dirname "$0")/submit.sh"

if [ $# -lt 2 ]; then
  awk 'NR > 1 { if (!/^#/) exit; sub(/^# ?/, ""); print }' slurm/pipeline.sh >&2
  exit 2
fi
sampling=$1
for config in "$@"; do
  [ -f "$config" ] || { echo "slurm/pipeline.sh: no file $config; paths start at the checkout" >&2; exit 2; }
done
twice=$(basename -a -s .yaml "${@:2}" | sort | uniq -d)
if [ -n "$twice" ]; then
  echo "slurm/pipeline.sh: several training configs are called ${twice//$'\n'/, }, and arms are told apart by that name;" \
    "rename one" >&2
  exit 2
fi
if ! grep -Eq '^verdict: *margin' "$sampling"; then
  echo "slurm/pipeline.sh: $sampling does not say 'verdict: margin'; a checkpoint trained on one-token verdicts is not" \
    "read otherwise. Take configs/inference/*-margin.yaml" >&2
  exit 2
fi
# Where jobs tell the next ones what they made.
notes=$RUN_ROOT/pipelines/$(date +%Y%m%d-%H%M%S)-$$

if [ "${FETCH:-1}" = 1 ]; then
  if [ "${DRY_RUN:-0}" = 1 ]; then echo "$VENV/bin/evenhand fetch $*"; else "$VENV/bin/evenhand" fetch "$@"; fi
fi

LABEL=before NOTE=$notes/before submit sample "$sampling"
sampled=$JOB
runs=("@$notes/before")
name=$(basename "$sampling" .yaml)
for training in "${@:2}"; do
  arm=$(basename "$training" .yaml)
  LABEL=$arm NOTE=$notes/$arm submit train "$training"
  AFTER=$JOB LABEL=$arm NOTE=$notes/$arm-merged submit merge "@$notes/$arm"
  AFTER=$JOB LABEL=$arm NOTE=$notes/$arm-sampled submit sample "$sampling" "name=$name-$arm" \
    "model.name=@$notes/$arm-merged" "model.label=$arm" model.revision=null
  sampled=$sampled:$JOB
  runs+=("@$notes/$arm-sampled")
done
AFTER=$sampled submit score "${runs[@]}"
