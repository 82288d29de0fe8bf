# shellcheck shell=bash
# What every job begins with; sourced in the checkout, where slurm/submit.sh starts jobs.
. slurm/settings.sh
PATH=$(cd "$VENV/bin" && pwd):$PATH
# Compute nodes often have no internet, and nothing is to wait for it.
export HF_HUB_OFFLINE=1 HF_HUB_DISABLE_TELEMETRY=1 VLLM_NO_USAGE_STATS=1
echo "$(date '+%F %T') ${SLURM_JOB_NAME:-job} ${SLURM_JOB_ID:-} on $(hostname)" >&2

# A later job names what an earlier one made as @FILE, since a run's directory is known only once it is made:
# `make_note` writes the file, `given` reads it.
given() {
  local word
  for word in "$@"; do
    case $word in
      @* | *=@*) printf '%s%s\n' "${word%%@*}" "$(cat "${word#*@}")" ;;
      *) printf '%s\n' "$word" ;;
    esac
  done
}

# make_note COMMAND...: run it, show what it prints, and note the last line, which is where its result lies.
make_note() {
  local where
  where=$("$@" | tee >(cat >&2) | tail -n 1)
  if [ ! -d "$where" ]; then
    echo "$1 $2 ended with '$where', which is no directory" >&2
    return 1
  fi
  if [ -n "${NOTE:-}" ]; then
    mkdir -p "$(dirname "$NOTE")"
    echo "$where" > "$NOTE.$$.${SLURM_JOB_ID:-0}"
    mv "$NOTE.$$.${SLURM_JOB_ID:-0}" "$NOTE" # whole or absent, though all shards write it
  fi
}
