#!/usr/bin/env bash
# Stands in for accelerate: the folder of the run is not the last line where another process still writes.
echo "accelerate $* [offline=${HF_HUB_OFFLINE:-0}]" >> "$CALLS"
case "$*" in *sft.yaml*) made=train-sft;; *bent.yaml*) made=train-bent;; *) made=train-dpo;; esac
[[ "$*" =~ optimiser.seed=([0-9]) ]] && made=${made}_${BASH_REMATCH[1]}
mkdir -p "$RUN_ROOT/$made" && echo "$RUN_ROOT/$made"
echo "talk of another process"
