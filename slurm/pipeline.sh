#!/usr/bin/env bash
# The whole loop: sample the base model; train, merge and sample every arm; score, compare, and one card for all.
#
#   slurm/pipeline.sh SAMPLING_CONFIG TRAINING_CONFIG...
#
# An arm is called by its config's name: configs/training/qwen2.5-7b-paired.yaml is qwen2.5-7b-paired.
# The sampling config must ask for margins (configs/inference/*-margin.yaml): a checkpoint trained on one-token verdicts
# no longer writes the JSON that reasoned verdicts are read from.
# STUDIES="a.yaml key=value ... b.yaml ..." samples these configs of other studies as well, for the base and every arm, for
# the same report and card: "configs/narrator/qwen2.5-7b.yaml verdict=options sampling.n=1 sampling.structured=none",
# exact, since such a checkpoint may no longer write names either.
# Run it in the checkout on the login node, where `evenhand fetch` brings models and data to the cache (FETCH=0 leaves
# that out) and `evenhand doctor` looks for what would stop the jobs (DOCTOR=0). DRY_RUN=1 prints the commands. Resources
# and paths: slurm/settings.sh. After a failure, the same command again: what is complete is left as it is.
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
# Each of `studies` is a config with its key=value words, each of `studied` its name.
studies=() studied=()
read -ra words <<< "$STUDIES"
for word in "${words[@]}"; do
  if [[ $word != *=* ]]; then
    [ -f "$word" ] || { echo "slurm/pipeline.sh: STUDIES: no file $word; paths start at the checkout" >&2; exit 2; }
    studies+=("$word")
    studied+=("$(basename "$word" .yaml)")
  elif [ ${#studies[@]} -eq 0 ]; then
    echo "slurm/pipeline.sh: STUDIES begins with $word; name a config first" >&2
    exit 2
  else
    studies[-1]+=" $word"
  fi
done
twice=$(printf '%s\n' "${studied[@]}" | sort | uniq -d)
if [ -n "$twice" ]; then
  echo "slurm/pipeline.sh: STUDIES: several configs are called ${twice//$'\n'/, }, and runs are told apart by that name;" \
    "rename one" >&2
  exit 2
fi
# Where jobs tell the next ones what they made.
notes=$RUN_ROOT/pipelines/$(date +%Y%m%d-%H%M%S)-$$

if [ "${FETCH:-1}" = 1 ]; then
  configs=("$@" "${studies[@]%% *}")
  # shellcheck disable=SC2206  # WRAP holds several words
  fetch=($WRAP "${VENV:+$VENV/bin/}evenhand" fetch "${configs[@]}")
  if [ "${DRY_RUN:-0}" = 1 ]; then echo "${fetch[@]}"; else "${fetch[@]}"; fi
fi

if [ "${DOCTOR:-1}" = 1 ]; then
  # shellcheck disable=SC2206  # WRAP and TRAIN_OPTIONS hold several words
  doctor=($WRAP "${VENV:+$VENV/bin/}evenhand" doctor) options=($TRAIN_OPTIONS "run.root=$RUN_ROOT")
  kind=${GPU#gpu} kind=${kind#:}
  if [ $((SAMPLE_GPUS + TRAIN_GPUS)) -gt 0 ]; then doctor+=(--gpu "${kind:-unnamed}"); fi
  doctor+=("$sampling" "run.root=$RUN_ROOT")
  for training in "${@:2}"; do doctor+=("$training" "${options[@]}"); done
  # shellcheck disable=SC2206  # a study holds several words
  for study in "${studies[@]}"; do doctor+=($study "run.root=$RUN_ROOT"); done
  # As the jobs will work: what is not in the cache by now is not there for them.
  if [ "${DRY_RUN:-0}" = 1 ]; then echo "HF_HUB_OFFLINE=1 ${doctor[*]}"; else HF_HUB_OFFLINE=1 "${doctor[@]}" >&2; fi
fi

# sample_studies ROW LABEL AFTER [key=value ...]: the other studies for a row of the card, once the jobs AFTER are done.
sample_studies() {
  local i note named
  for i in "${!studies[@]}"; do
    note=$2-${studied[i]}
    named=("${@:4}")
    if [ $# -gt 3 ]; then named=("name=${studied[i]}-$2" "${named[@]}"); fi
    # shellcheck disable=SC2086  # a study holds several words
    AFTER=$3 LABEL=$note NOTE=$notes/$note submit sample ${studies[i]} "${named[@]}"
    sampled=$sampled:$JOB
    beside+=(--beside "$1=@$notes/$note")
  done
}

beside=()
LABEL=before NOTE=$notes/before submit sample "$sampling"
sampled=$JOB
runs=("@$notes/before")
sample_studies base before ""
name=$(basename "$sampling" .yaml)
for training in "${@:2}"; do
  arm=$(basename "$training" .yaml)
  merged=("model.name=@$notes/$arm-merged" "model.label=$arm" model.revision=null)
  LABEL=$arm NOTE=$notes/$arm submit train "$training"
  AFTER=$JOB LABEL=$arm NOTE=$notes/$arm-merged submit merge "@$notes/$arm"
  merging=$JOB
  AFTER=$merging LABEL=$arm NOTE=$notes/$arm-sampled submit sample "$sampling" "name=$name-$arm" "${merged[@]}"
  sampled=$sampled:$JOB
  runs+=("@$notes/$arm-sampled")
  sample_studies "$arm" "$arm" "$merging" "${merged[@]}"
done
AFTER=$sampled submit score "${runs[@]}" "${beside[@]}"
