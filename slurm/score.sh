#!/usr/bin/env bash
# Score sampling runs, compare the first with the others, and put all on one card:
# score.sh BEFORE|@FILE [[ARM=]AFTER|[ARM=]@FILE ...] [--fit RUN|@FILE] [--with ROW=RUN|ROW=@FILE ...], the latter for
# runs of other studies. --fit: BEFORE's model over training items, on which thresholds are fitted as a further arm.
set -euo pipefail
. slurm/job.sh

runs=() arms=() rows=() others=() fitted=""
read_words "$@"
for ((i = 0; i < ${#words[@]}; i++)); do
  if [ "${words[i]}" = --with ]; then
    i=$((i + 1))
    rows+=(--with "${words[i]}")
    others+=("${words[i]#*=}")
  elif [ "${words[i]}" = --fit ]; then
    i=$((i + 1))
    fitted=${words[i]}
  else
    arms+=("${words[i]}")
    if [ -e "${words[i]}" ]; then runs+=("${words[i]}"); else runs+=("${words[i]#*=}"); fi
  fi
done
for run in "${runs[@]}" ${fitted:+"$fitted"} "${others[@]}"; do
  # Where the file system shows files late, the two last shards may each have missed the other's; then this marks the
  # run complete, and it asks a model only if something is owed after all.
  [ -e "$run/DONE.json" ] || evenhand sample "$run/config.yaml"
done
evenhand score "${runs[@]}" "${others[@]}"
if [ ${#runs[@]} -gt 1 ]; then
  evenhand compare "${runs[@]}" "${others[@]}"
  if [ -n "$fitted" ]; then
    # Refused where an item is asked that was trained on: the card is worth having without this arm.
    if evenhand calibrate "$fitted" "${runs[0]}"; then
      rows+=(--calibrated "${runs[0]}/calibrated/thresholds.json")
    else
      echo "slurm/score.sh: no thresholds on the scorecard: see the message above" >&2
    fi
  fi
  evenhand scorecard "${arms[@]}" "${rows[@]}"
fi
note_result "${runs[0]}"
