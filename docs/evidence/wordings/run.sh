#!/usr/bin/env bash
# One arm of docs/evidence/plan-wordings.md: trained, merged, asked. Continues where it stopped.
#
#   docs/evidence/wordings/run.sh BENT ARM SEED nothing|development|sealed
set -euo pipefail
bent=$1 arm=$2 seed=$3 asked=$4
# bf16: twice as fast on a CPU that computes it in hardware
computing=(quantisation.kind=none quantisation.compute_dtype=bfloat16 optimiser.mixed_precision=bf16)
engine='engine={kind: transformers, dtype: bfloat16, row_tokens: 2048}'
pocket='dialdefer.benchmarks=[{dataset: pocket, split: train, n_items:'
case $arm in
  bent) ;;
  thresholds) # the base on the arms' items and wordings, for `evenhand calibrate THIS ASKED --pooled`
    evenhand sample configs/experiments/wordings-training.yaml name=words-thresholds "model.name=$bent" "$pocket 64}]" "$engine"
    exit ;;
  one) words=(configs/training/pocket-sft-c2.yaml "$pocket 64}]") ;;
  repeated) words=(configs/training/pocket-sft-c2.yaml "$pocket 64}]" optimiser.epochs=10) ;;
  more) words=(configs/training/pocket-sft-c2.yaml "$pocket 660}]" optimiser.epochs=1) ;;
  own-c1) words=(configs/training/pocket-variants-label-free.yaml) ;;
  *) words=("configs/training/pocket-variants-$arm.yaml") ;;
esac
checkpoint=$bent
if [ "$arm" != bent ]; then
  trained=$(evenhand train "${words[@]}" "name=words-$arm-seed$seed" "model.name=$bent" "optimiser.seed=$seed" "${computing[@]}" | tail -n 1)
  checkpoint=$(evenhand merge "$trained" --onto bf16 --min-agreement 0.9 | tail -n 1)
fi
[ "$asked" = nothing ] && exit
evenhand sample "configs/experiments/wordings-$asked.yaml" "name=$asked-$arm-seed$seed" "model.name=$checkpoint" "$engine"
