#!/usr/bin/env bash
# The whole loop: sample the base model; train, merge and sample every arm; score, compare, and one card for all, with
# the base under thresholds that are fitted on the first arm's training items (`evenhand calibrate`).
#
#   slurm/pipeline.sh SAMPLING_CONFIG TRAINING_CONFIG...
#   slurm/pipeline.sh "SAMPLING_CONFIG SAMPLING_CONFIG..." TRAINING_CONFIG...      a card for each sampling config
#
# An arm is called by its config's name: configs/training/qwen2.5-7b-paired.yaml is qwen2.5-7b-paired. SEEDS=3 trains it
# with optimiser.seed 0, 1 and 2, and the card has a row an arm over its seeds.
# BASE_TRAINING=CONFIG trains and merges this first: the judge that is sampled as the base and that the arms train.
# ARM_OPTIONS="key=value ..." are words for every arm's training config, not for the base's.
# MODEL=NAME, a Hub id or a checkpoint folder, is the judge in place of the model that the configs name.
# HERE=1 runs every job on this machine, one after the other, without Slurm.
# The sampling config must ask for margins (configs/inference/*-margin.yaml): a checkpoint trained on one-token verdicts
# no longer writes the JSON that reasoned verdicts are read from.
# STUDIES="a.yaml key=value ... b.yaml ..." samples these configs of other studies as well, for the base and every arm, for
# the same report and card: "configs/narrator/qwen2.5-7b.yaml verdict=options sampling.n=1 sampling.structured=none",
# exact, since such a checkpoint may no longer write names either.
# Run it in the checkout on the login node, where `evenhand fetch` brings models and data to the cache (FETCH=0 leaves
# that out) and `evenhand doctor` looks for what would stop the jobs (DOCTOR=0). DRY_RUN=1 prints the commands. Resources
# and paths: slurm/settings.sh. After a failure, the same command again: what is complete is left as it is. While its jobs
# are queued or run, it submits nothing and ends with status 1.
set -euo pipefail
# shellcheck source=slurm/submit.sh
. "$(dirname "$0")/submit.sh"

if [ $# -lt 2 ]; then
  awk 'NR > 1 { if (!/^#/) exit; sub(/^# ?/, ""); print }' slurm/pipeline.sh >&2
  exit 2
fi
read -ra samplings <<< "$1"
trainings=("${@:2}")
for config in "${samplings[@]}" "${trainings[@]}" ${BASE_TRAINING:+"$BASE_TRAINING"}; do
  [ -f "$config" ] || { echo "slurm/pipeline.sh: no file $config; paths start at the checkout" >&2; exit 2; }
done
# refuse_twice WHAT CONFIG...: later names follow from the configs' own.
refuse_twice() {
  local twice
  twice=$(basename -a -s .yaml "${@:2}" | sort | uniq -d)
  [ -z "$twice" ] || { echo "slurm/pipeline.sh: several $1 are called ${twice//$'\n'/, }; rename one" >&2; exit 2; }
}
refuse_twice "training configs" "${trainings[@]}"
refuse_twice "sampling configs" "${samplings[@]}"
for sampling in "${samplings[@]}"; do
  if ! grep -Eq '^verdict: *margin' "$sampling"; then
    echo "slurm/pipeline.sh: $sampling does not say 'verdict: margin'; a checkpoint trained on one-token verdicts is not" \
      "read otherwise. Take configs/inference/*-margin.yaml" >&2
    exit 2
  fi
done
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
if [ ${#studied[@]} -gt 0 ]; then refuse_twice "configs of STUDIES" "${studied[@]}"; fi
read -ra arm_options <<< "${ARM_OPTIONS:-}"
model=()
if [ -n "${MODEL:-}" ]; then model=("model.name=$MODEL" model.revision=null); fi
# Where jobs tell the next ones what they made.
notes=$RUN_ROOT/pipelines/$(date +%Y%m%d-%H%M%S)-$$
# The ids of the jobs that this command submitted last. All that decides what they compute makes its name.
digest=$(printf '%s\0' "$PWD" "$@" "${BASE_TRAINING:-}" "${SEEDS:-1}" "${ARM_OPTIONS:-}" "${MODEL:-}" "$STUDIES" \
  "$TRAIN_OPTIONS" "$MERGE_OPTIONS" | sha256sum)
ids=$RUN_ROOT/pipelines/${digest::16}.jobs
if [ "${DRY_RUN:-0}${HERE:-0}" = 00 ] && [ -f "$ids" ]; then
  queue=$(squeue --noheader --user="$(id -un)" --format=%F)
  if alive=$(grep -Fx -f "$ids" <<< "$queue"); then
    echo "slurm/pipeline.sh: this pipeline lives already, and nothing is submitted: jobs $(sort -u <<< "$alive" | xargs)" \
      "are queued or running. Wait for them, or \`scancel\` them first" >&2
    exit 1
  fi
fi

# Every config with these words and those that the jobs will give it, into `named`.
# shellcheck disable=SC2206  # TRAIN_OPTIONS and a study hold several words
name_all() {
  local config options=($TRAIN_OPTIONS "$@" "${model[@]}")
  named=()
  for config in "${samplings[@]}"; do named+=("$config" "$@" "${model[@]}"); done
  for config in "${trainings[@]}"; do named+=("$config" "${options[@]}" "${arm_options[@]}"); done
  if [ -n "${BASE_TRAINING:-}" ]; then named+=("$BASE_TRAINING" "${options[@]}"); fi
  for config in "${studies[@]}"; do named+=($config "$@" "${model[@]}"); done
}

if [ "${FETCH:-1}" = 1 ]; then
  name_all
  # shellcheck disable=SC2206  # WRAP holds several words
  fetch=($WRAP "${VENV:+$VENV/bin/}evenhand" fetch "${named[@]}")
  if [ "${DRY_RUN:-0}" = 1 ]; then echo "${fetch[@]}"; else "${fetch[@]}"; fi
fi

if [ "${DOCTOR:-1}" = 1 ]; then
  # shellcheck disable=SC2206  # WRAP holds several words
  doctor=($WRAP "${VENV:+$VENV/bin/}evenhand" doctor)
  kind=${GPU#gpu} kind=${kind#:}
  if [ $((SAMPLE_GPUS + TRAIN_GPUS)) -gt 0 ]; then doctor+=(--gpu "${kind:-unnamed}"); fi
  name_all "run.root=$RUN_ROOT"
  doctor+=("${named[@]}")
  # As the jobs will work: what is not in the cache by now is not there for them.
  if [ "${DRY_RUN:-0}" = 1 ]; then echo "HF_HUB_OFFLINE=1 ${doctor[*]}"; else HF_HUB_OFFLINE=1 PYTHONSAFEPATH=1 "${doctor[@]}" >&2; fi
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
    others+=(--with "$1=@$notes/$note")
  done
}

# sample_all ROW LABEL AFTER [key=value ...]: every sampling config for a row of the cards, and the other studies.
sample_all() {
  local i name note
  for i in "${!samplings[@]}"; do
    name=$(basename "${samplings[i]}" .yaml)
    note=$2-sampled-$name
    words=("${@:4}")
    if [ "$1" != base ]; then words=("name=$name-$2" "${words[@]}"); fi
    AFTER=$3 LABEL=$2 NOTE=$notes/$note submit sample "${samplings[i]}" "${words[@]}"
    sampled=$sampled:$JOB
    if [ "$1" = base ]; then runs[i]=@$notes/$note; else runs[i]+=$'\n'$1=@$notes/$note; fi
  done
  sample_studies "$@"
}

# train_and_merge LABEL CONFIG [key=value ...]: MERGED is then the words of a config that asks the merged checkpoint.
train_and_merge() {
  AFTER=$basing LABEL=$1 NOTE=$notes/$1 submit train "${@:2}"
  AFTER=$JOB LABEL=$1 NOTE=$notes/$1-merged submit merge "@$notes/$1"
  MERGED=("model.name=@$notes/$1-merged" "model.label=$1" model.revision=null)
}

# Half a chain would compute for nothing.
cancel_half() {
  if [ $? = 0 ] || [ ${#SUBMITTED[@]} = 0 ]; then return; fi
  echo "slurm/pipeline.sh: not all jobs could be submitted; cancelling ${SUBMITTED[*]}" >&2
  scancel "${SUBMITTED[@]}"
}
trap cancel_half EXIT

others=() runs=() fitted=() sampled="" base=("${model[@]}") basing=""
if [ -n "${BASE_TRAINING:-}" ]; then
  train_and_merge before "$BASE_TRAINING" "${model[@]}"
  base=("${MERGED[@]}") basing=$JOB
fi
sample_all base before "$basing" "${base[@]}"
# The free baseline: thresholds for the base, fitted on the items that the first arm trains on.
for items in dialdefer.benchmarks framing.items; do # a study, and its key for them
  study=${items%.*}
  for training in "${trainings[@]}"; do
    grep -q "^$study:" "$training" || [[ " $TRAIN_OPTIONS ${ARM_OPTIONS:-}" == *" $study="* ]] || continue
    for i in "${!samplings[@]}"; do
      grep -q "^$study:" "${samplings[i]}" || continue
      name=$(basename "${samplings[i]}" .yaml)
      note=before-fitted-$name
      read -ra words <<< "$TRAIN_OPTIONS"
      trained=$(printf ' %q' "$training" "${words[@]}" "${arm_options[@]}")
      words=()
      if [ "$study" = dialdefer ]; then words=("dialdefer.prompts.arms=[none]"); fi
      AFTER=$basing LABEL=before-fitted NOTE=$notes/$note submit sample "${samplings[i]}" "name=$name-train" \
        "$items=<${trained# }" "${words[@]}" "${base[@]}"
      sampled=$sampled:$JOB
      fitted[i]=@$notes/$note
    done
    break
  done
done
for training in "${trainings[@]}"; do
  arm=$(basename "$training" .yaml)
  for ((seed = 0; seed < ${SEEDS:-1}; seed++)); do
    label=$arm words=()
    if [ "${SEEDS:-1}" -gt 1 ]; then label=$arm-seed$seed words=("optimiser.seed=$seed"); fi
    train_and_merge "$label" "$training" "${base[@]}" "${arm_options[@]}" "${words[@]}"
    sample_all "$arm" "$label" "$JOB" "${MERGED[@]}"
  done
done
for i in "${!samplings[@]}"; do
  mapfile -t words <<< "${runs[i]}"
  if [ -n "${fitted[i]:-}" ]; then words+=(--fit "${fitted[i]}"); fi
  if [ "$i" = 0 ]; then words+=("${others[@]}"); fi
  label=""
  if [ ${#samplings[@]} -gt 1 ]; then label=$(basename "${samplings[i]}" .yaml); fi
  AFTER=${sampled#:} LABEL=$label NOTE=$notes/scored${label:+-$label} submit score "${words[@]}"
done
if [ ${#SUBMITTED[@]} -gt 0 ]; then
  { mkdir -p "$RUN_ROOT/pipelines" && printf '%s\n' "${SUBMITTED[@]}" > "$ids"; } ||
    echo "slurm/pipeline.sh: $ids cannot be written; the jobs are submitted, and a second call would submit them again" >&2
fi
