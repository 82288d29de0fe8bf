# shellcheck shell=bash
# What every job begins with; sourced in the checkout, where slurm/submit.sh starts jobs.
. slurm/settings.sh
. slurm/time_limit.sh
if [ -n "$MODULES" ]; then
  set +eu # these scripts are not written for it
  type module > /dev/null 2>&1 || . /etc/profile # a batch shell is no login shell
  # shellcheck disable=SC2086  # MODULES holds several words
  module load $MODULES || exit
  set -eu
fi
eval "$STAGE"
# Programs have their whole path: a container has a PATH of its own.
export PROGRAMS=${VENV:+$(realpath -m "$VENV")/bin/}
PATH=${PROGRAMS:+$PROGRAMS:}$PATH
# run_program NAME WORD...: become evenhand, accelerate, vllm or python, as this job runs them, or any other program.
run_program() {
  # shellcheck disable=SC2086  # WRAP holds several words
  case $1 in
    evenhand | accelerate | vllm | python) exec $WRAP "$PROGRAMS$1" "${@:2}" ;;
    *) exec "$@" ;;
  esac
}
evenhand() { (run_program evenhand "$@"); }
# `-m training` would take a folder of that name where the job starts, unless the current folder is left out of Python's
# path. Where Evenhand is not installed, it is found there alone.
if (run_program python -P -c 'import evenhand') 2> /dev/null; then export PYTHONSAFEPATH=1; fi
# Compute nodes often have no internet, and nothing is to wait for it.
export HF_HUB_OFFLINE=1 HF_HUB_DISABLE_TELEMETRY=1 VLLM_NO_USAGE_STATS=1
# FlashInfer's sampler is compiled with nvcc when vLLM starts, and few nodes have it.
export VLLM_USE_FLASHINFER_SAMPLER=${VLLM_USE_FLASHINFER_SAMPLER:-0}
export VLLM_CACHE_ROOT=${VLLM_CACHE_ROOT:-$KERNEL_CACHE/vllm}
export TRITON_CACHE_DIR=${TRITON_CACHE_DIR:-$KERNEL_CACHE/triton}
export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR:-$KERNEL_CACHE/inductor}
echo "$(date '+%F %T') ${SLURM_JOB_NAME:-job} ${SLURM_JOB_ID:-} on $(hostname)" >&2

# note_result FOLDER: where this job's result lies, for later jobs.
note_result() {
  [ -n "${NOTE:-}" ] || return 0
  mkdir -p "$(dirname "$NOTE")"
  echo "$1" > "$NOTE.$$.${SLURM_JOB_ID:-0}"
  mv "$NOTE.$$.${SLURM_JOB_ID:-0}" "$NOTE" # whole or absent, though all shards write it
}

# A later job names what an earlier one made as @FILE, since a run's directory is known only once it is made:
# `make_note` writes the file, `read_words` reads it. It sets the array `words`; a job whose note is missing ends.
read_words() {
  local word note
  words=()
  for word in "$@"; do
    case $word in
      @* | *=@*)
        note=${word#*@}
        [ -s "$note" ] || { echo "$0: no note $note: the job that was to write it failed" >&2; exit 1; }
        words+=("${word%%@*}$(cat "$note")")
        ;;
      *) words+=("$word") ;;
    esac
  done
}

# make_note COMMAND...: run it, show what it prints, and note where its result lies: the last directory that it prints.
# (The very last line may be another process's: several write there when several train.) When the job's time is nearly
# over, or its engine hangs, the command is stopped and the job requeued.
make_note() {
  local where tee_pid line
  [ -z "$IS_OVER" ] || requeue
  PIPES=$(mktemp -d)
  mkfifo "$PIPES/out"
  tee "$PIPES/copy" < "$PIPES/out" >&2 &
  tee_pid=$!
  run_until_time_is_over "$PIPES/out" "$@"
  wait "$tee_pid" # all is copied then
  where=$(while IFS= read -r line; do [ ! -d "$line" ] || echo "$line"; done < "$PIPES/copy" | tail -n 1)
  rm -r "$PIPES"
  [ "$CODE" = 0 ] || return "$CODE"
  if [ -z "$where" ]; then
    echo "$1 $2 printed no directory, where its result would lie" >&2
    return 1
  fi
  note_result "$where"
}
