# shellcheck shell=bash
# A job that outlasts its time limit, sourced by slurm/job.sh. STOP_BEFORE seconds before the limit Slurm sends USR1 to
# the job's script; the program in it is asked to stop and keep what it has, and the job is requeued under its own id, so
# that what waits for it keeps waiting. bash runs a trap only between commands, so the program runs in the background.

# Files by which script and program speak (evenhand/terminal.py); a requeued job has the same id.
SIGNS=$(realpath -m "$LOGS")/.signs-${SLURM_JOB_ID:-none-$$}
export EVENHAND_STOP_FILE=$SIGNS.stop EVENHAND_PROGRESS_FILE=$SIGNS.progress
HUNG=75         # a program's exit status when its engine hung (inference/watchdog.py)
STOP_SIGNAL=TERM # also sent to the program; none where it reads the stop file
CHILD='' IS_OVER='' CODE=0
rm -f "$EVENHAND_STOP_FILE" "$EVENHAND_PROGRESS_FILE"

# Of the time that Slurm leaves, a quarter is kept for the requeueing.
ask_to_stop() {
  local left=$((STOP_BEFORE * 3 / 4))
  IS_OVER=yes
  echo "$(date '+%F %T') the time limit is near: stopping, to continue in another job" >&2
  touch "$EVENHAND_STOP_FILE"
  [ -n "$CHILD" ] || return 0
  [ -z "$STOP_SIGNAL" ] || kill -s "$STOP_SIGNAL" "$CHILD" 2> /dev/null || true
  while kill -0 "$CHILD" 2> /dev/null && [ "$left" -gt 0 ]; do
    sleep 1
    left=$((left - 1))
  done
}
trap ask_to_stop USR1

# run_until_time_is_over OUTPUT COMMAND...: sets CODE to its exit status. Never returns from a job that is requeued.
run_until_time_is_over() {
  local out=$1
  shift
  if [ -z "${SLURM_JOB_ID:-}" ]; then # HERE=1: in the foreground, where Ctrl-C reaches it
    (run_program "$@") > "$out" || CODE=$?
    return 0
  fi
  (run_program "$@") > "$out" &
  CHILD=$! CODE=1
  [ -z "$IS_OVER" ] || ask_to_stop
  # A wait that the trap cuts short says nothing of the program. Where it did not stop in time, Slurm will end it.
  for _ in first again; do
    if [ -n "$IS_OVER" ] && kill -0 "$CHILD" 2> /dev/null; then break; fi
    CODE=0
    wait "$CHILD" || CODE=$?
    [ -n "$IS_OVER" ] || break
  done
  if [ -n "$IS_OVER" ] && [ "$CODE" != 0 ]; then requeue; fi
  if [ "$CODE" = "$HUNG" ]; then
    echo "$(date '+%F %T') the program ended with status $HUNG: it continues in another job" >&2
    requeue
  fi
  trap '' USR1 # what is left takes a moment
  rm -f "$SIGNS".*
}

# Put this job back into the queue, where it continues; unless it has come no further several times in a row.
requeue() {
  local in_vain=0
  rm -rf "${PIPES:-}" # of make_note
  if [ ! -e "$EVENHAND_PROGRESS_FILE" ]; then
    in_vain=$(($(cat "$SIGNS.in-vain" 2> /dev/null || echo 0) + 1))
  fi
  if [ "$in_vain" -ge "$REQUEUES_IN_VAIN" ]; then
    echo "this job was stopped $in_vain times in a row, by its time limit or since the engine hung, before anything was" \
      "computed that could be kept, so it is not requeued; give it more time (slurm/settings.sh) or see to the engine," \
      "then the same command continues" >&2
    rm -f "$SIGNS".*
    exit 1
  fi
  echo "$in_vain" > "$SIGNS.in-vain"
  if ! scontrol requeue "$SLURM_JOB_ID"; then
    echo "this job could not be requeued; submit it again: the same command continues" >&2
    exit 1
  fi
  sleep 60 # Slurm ends this script
  exit 1
}
