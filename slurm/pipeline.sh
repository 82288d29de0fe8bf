#!/usr/bin/env bash
# The whole loop: sample the base model, train it with SFT and with DPO, merge, sample what was merged, score and compare.
#
#   slurm/pipeline.sh SAMPLING_CONFIG SFT_CONFIG [DPO_CONFIG]
#
# The sampling config must ask for margins (configs/inference/*-margin.yaml): a checkpoint trained on one-token verdicts
# no longer writes the JSON that reasoned verdicts are read from.
# Run it in the checkout on the login node, where `evenhand fetch` brings models and data to the cache (FETCH=0 leaves
# that out). DRY_RUN=1 prints the commands. Resources and paths: slurm/settings.sh. After a failure, the same command
# again: what is complete is left as it is.
set -euo pipefail
# shellcheck source=slurm/submit.sh
. "$(dirname "$0")/submit.sh"

if [ $# -lt 2 ] || [ $# -gt 3 ]; then
  awk 'NR > 1 { if (!/^#/) exit; sub(/^# ?/, ""); print }' slurm/pipeline.sh >&2
  exit 2
fi
sampling=$1
declare -A trainings=([sft]=$2 [dpo]=${3:-})
for config in "$@"; do
  [ -f "$config" ] || { echo "slurm/pipeline.sh: no file $config; paths start at the checkout" >&2; exit 2; }
done
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
for method in sft dpo; do
  [ -n "${trainings[$method]}" ] || continue
  NOTE=$notes/$method submit "$method" "${trainings[$method]}"
  AFTER=$JOB LABEL=$method NOTE=$notes/$method-merged submit merge "@$notes/$method"
  AFTER=$JOB LABEL=$method NOTE=$notes/$method-sampled submit sample "$sampling" "name=$name-$method" \
    "model.name=@$notes/$method-merged" "model.label=$name-$method" model.revision=null
  sampled=$sampled:$JOB
  runs+=("@$notes/$method-sampled")
done
AFTER=$sampled submit score "${runs[@]}"
