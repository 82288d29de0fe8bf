#!/usr/bin/env bash
# The result of docs/evidence/plan-wordings.md from the runs in runs/inference: scorecards over all sealed wordings and
# in each of them, and the figure.
#
#   docs/evidence/wordings/score.sh OUT
set -euo pipefail
out=$1 runs=runs/inference
base=$(echo $runs/sealed-bent-*)
evenhand calibrate $runs/words-thresholds-* "$base" --pooled
arms=()
for arm in one repeated more sft paired own-c1 dpo; do
  for run in "$runs/sealed-$arm-"*; do [ -e "$run" ] && arms+=("$arm=$run"); done
done
card() { evenhand scorecard "$base" "${arms[@]}" --calibrated "$base/calibrated/thresholds.json" --all "$@"; }
card --out "$out/all" --reference calibrated --reference one --reference repeated --reference more --reference sft > "$out-all.txt"
card --variant both_orders --out "$out/s1" > "$out-s1.txt"
for wording in 's2, Priya/Marcus' 's3, Customer/Clerk' 's4, Host/Guest'; do
  card --variant "$wording, both_orders" --out "$out/${wording%%,*}" > "$out-${wording%%,*}.txt"
done
python docs/evidence/wordings/figure.py "$out"
