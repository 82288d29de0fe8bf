#!/usr/bin/env bash
# Stands in for evenhand: tells how it was called, and prints the folder of its result after some talk, as the real one.
echo "evenhand $* [offline=${HF_HUB_OFFLINE:-0}]" >> "$CALLS"
case $1 in
  sample) [[ "$*" =~ merged-([a-z0-9_]+) ]] && made=run-${BASH_REMATCH[1]} || made=run-before
    case "$*" in *name=*-train*) made=train-$made;; esac
    case "$*" in *new.yaml*) made=new-$made;; esac
    case "$*" in *conflicts.yaml*) made=conflicts-$made;; esac;;
  merge) made=merged-${2##*-};;
  *) exit 0;;
esac
echo "talk of $1"
[ -n "${BROKEN:-}" ] && exit 0
mkdir -p "$RUN_ROOT/$made" && touch "$RUN_ROOT/$made/DONE.json" && echo "$RUN_ROOT/$made"
