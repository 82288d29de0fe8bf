#!/usr/bin/env bash
# Stands in for sbatch: runs the job at once, each array task in turn, in the folder that --chdir names.
set -eu
last=0
for word in "$@"; do case $word in
  --array=0-*) last=${word#--array=0-}; last=${last%%%*};; --chdir=*) cd "${word#--chdir=}";; --*) ;; *) break;; esac; done
while case $1 in --*) true;; *) false;; esac; do echo "option $1" >> "$CALLS"; shift; done
count=$(cat "$COUNTER" 2>/dev/null || echo 100); echo $((count + 1)) > "$COUNTER"
for task in $(seq 0 "$last"); do SLURM_ARRAY_TASK_ID=$task bash "$@" >> "$CALLS.out" 2>&1; done
echo "$((count + 1));cluster"
