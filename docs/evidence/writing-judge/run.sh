#!/bin/bash
# Items → the four ways of writing, each with the baseline and one speaker → scores. MODEL is the checkpoint's
# folder. The same command continues where it stopped.
# See ../plan-writing-judge.md
set -euo pipefail
here=docs/evidence/writing-judge
: "${MODEL:=Qwen/Qwen2.5-Coder-1.5B-Instruct}"
python docs/evidence/knowing-judge/items.py data/knowing-judge/known capitals opposites kinds pocket
two=(framing.framings.user=null framing.framings.sure=null framing.framings.majority=null engine.max_num_seqs=128)
words=('framing.symbols=[correct, incorrect]' framing.orders=given)
numbers=$'1. {{ first }}\n2. {{ second }}\n'
ask() { evenhand sample $here/gate.yaml model.name="$MODEL" name="two-$1" "${two[@]}" "${@:2}" | tail -1; }
runs=("$(ask json-numbers)")
runs+=("$(ask json-words "${words[@]}" \
  'framing.set.how="Reply in JSON: {\"reasoning\": \"two short sentences\", \"answer\": \"correct or incorrect\"}"')")
runs+=("$(ask prose-numbers sampling.structured=none \
  "framing.set.how=\"${numbers//$'\n'/\\n}Give your reason in two short sentences. Then end with the line: Final answer: 1 or 2\"")")
runs+=("$(ask prose-words sampling.structured=none "${words[@]}" \
  'framing.set.how="Give your reason in two short sentences. Then end with the line: Final answer: correct or incorrect"')")
for run in "${runs[@]}"; do evenhand score "$run" --all; done
