#!/usr/bin/env bash
# Stands in for evenhand and accelerate. HOW it stops: at SIGTERM (term), for the stop file (file);
# done just when it is asked (end); else done at once. KEEPS=1: it has computed something by then.
trap 'echo "SIGTERM for ${0##*/}" >> "$CALLS"; [ "$HOW" != term ] || exit 143' TERM
echo "${0##*/} $*" >> "$CALLS"
[ -z "${KEEPS:-}" ] || touch "$EVENHAND_PROGRESS_FILE"
touch "$CALLS.begun"
while [ -n "${HOW:-}" ] && kill -0 "$PPID" 2> /dev/null; do
  if [ -e "$EVENHAND_STOP_FILE" ]; then
    [ "$HOW" != end ] || break
    [ "$HOW" != file ] || exit 1
  fi
  sleep 0.05
done
mkdir -p "$RUN_ROOT/made" && echo "$RUN_ROOT/made"
