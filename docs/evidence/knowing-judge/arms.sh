#!/bin/bash
# The arms of ../plan-knowing-judge.md, once run.sh has met the gate, on one core: three seeds of each arm named are trained,
# merged and asked the gate's prompts; thresholds stand beside. The same command continues. A second lane takes the other.
#   MODEL=FOLDER docs/evidence/knowing-judge/arms.sh knowing-sft
set -euo pipefail
here=docs/evidence/knowing-judge
: "${MODEL:=Qwen/Qwen2.5-Coder-1.5B-Instruct}"
export HERE=1 FETCH=0 DOCTOR=0 TRAIN_GPUS=0 SAMPLE_GPUS=0 SEEDS=3 MODEL
MERGE_OPTIONS="--onto bf16 --min-agreement 0.5 --n-prompts 16" \
  slurm/pipeline.sh $here/gate.yaml $(printf "$here/%s.yaml " "$@")
# The plan's thresholds are on the mean of both orders; the scorecard's are one for each order.
python $here/read.py thresholds runs/inference/knowing-gate-* runs/inference/gate-train-*
