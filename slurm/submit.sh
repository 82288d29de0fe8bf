#!/usr/bin/env bash
# Submit one job and print its id: slurm/submit.sh doctor|sample|serve|train|merge|score ARGUMENT...
# The arguments are those of slurm/KIND.sh. DRY_RUN=1 prints the sbatch command instead, HERE=1 runs the job at once.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. slurm/settings.sh

for name in SAMPLE_SHARDS SERVE_SHARDS SEEDS ARRAY_LIMIT; do
  [[ ${!name:-1} =~ ^[1-9][0-9]*$ ]] || { echo "slurm/submit.sh: $name is '${!name}'; set it to 1 or more" >&2; exit 2; }
done

N_SUBMITTED=0 SUBMITTED=()

# submit KIND ARGUMENT...: sets JOB to the id. AFTER="id:id" waits for these to succeed, LABEL tells jobs of a kind apart.
submit() {
  local kind=$1 upper gpus cpus mem time shards place own
  shift
  if [ ! -f "slurm/$kind.sh" ] || [[ ! $kind =~ ^(doctor|sample|serve|train|merge|score)$ ]]; then
    echo "slurm/submit.sh: no job '$kind'; known: doctor, sample, serve, train, merge, score" >&2
    return 2
  fi
  upper=${kind^^}
  # shellcheck disable=SC2034  # read by name: doctor looks at what sampling would get, and needs it for minutes
  local DOCTOR_GPUS=$SAMPLE_GPUS DOCTOR_CPUS=$SAMPLE_CPUS DOCTOR_MEM=$SAMPLE_MEM DOCTOR_TIME=00:15:00
  gpus=${upper}_GPUS cpus=${upper}_CPUS mem=${upper}_MEM time=${upper}_TIME

  # --requeue: a preempted job starts again, and the same command continues what it left.
  # --export=ALL: some sites set another default, and jobs would lack these settings.
  local options=(--parsable --requeue --export=ALL --open-mode=append --chdir="$PWD"
    --job-name="evenhand-$kind${LABEL:+-$LABEL}"
    --cpus-per-task="${!cpus}" --mem="${!mem}" --time="${!time}")
  if [ "$kind" = train ]; then
    options+=(--nodes="$TRAIN_NODES" --ntasks-per-node=1)
  else
    options+=(--nodes=1 --ntasks=1)
  fi
  # These continue what they have begun; a merge and a card begin anew, and must fit their time.
  if [[ $kind =~ ^(sample|serve|train)$ ]] && [ "$STOP_BEFORE" -gt 0 ]; then options+=(--signal="B:USR1@$STOP_BEFORE"); fi
  if [ "${!gpus}" -gt 0 ] && [ -n "$GPU" ]; then options+=(--gres="$GPU:${!gpus}"); fi
  shards=${upper}_SHARDS
  if [ "$kind" = sample ] || [ "${!shards:-1}" -gt 1 ]; then
    options+=(--array="0-$((${!shards} - 1))${ARRAY_LIMIT:+%$ARRAY_LIMIT}" --output="$LOGS/%x-%A_%a.log")
  else
    options+=(--output="$LOGS/%x-%j.log")
  fi
  # Without kill-on-invalid-dep, what waits for a failed job would wait for ever.
  if [ -n "${AFTER:-}" ]; then options+=(--dependency="afterok:$AFTER" --kill-on-invalid-dep=yes); fi
  for place in PARTITION ACCOUNT QOS CONSTRAINT; do
    own=${upper/DOCTOR/SAMPLE}_$place
    own=${!own:-${!place}}
    if [ -n "$own" ]; then options+=("--${place,,}=$own"); fi
  done
  # shellcheck disable=SC2206  # EXTRA holds several words
  options+=($EXTRA)

  if [ "${DRY_RUN:-0}" = 1 ]; then
    N_SUBMITTED=$((N_SUBMITTED + 1))
    JOB=$N_SUBMITTED
    printf '[%s]' "$JOB"
    printf ' %q' ${NOTE:+NOTE="$NOTE"} sbatch "${options[@]}" "slurm/$kind.sh" "$@"
    echo
    return
  fi
  if [ "${HERE:-0}" = 1 ]; then
    JOB=here
    echo "$kind${LABEL:+ $LABEL}: $*"
    SAMPLE_SHARDS=1 SERVE_SHARDS=1 NOTE=${NOTE:-} bash "slurm/$kind.sh" "$@" # no array here
    return
  fi
  mkdir -p "$LOGS"
  JOB=$(sbatch "${options[@]}" "slurm/$kind.sh" "$@")
  JOB=${JOB%%;*} # federations answer "id;cluster"
  SUBMITTED+=("$JOB")
  echo "$JOB evenhand-$kind${LABEL:+-$LABEL} $*"
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  if [ $# -lt 2 ]; then
    sed -n '2,3s/^# //p' slurm/submit.sh >&2
    exit 2
  fi
  submit "$@"
fi
