#!/bin/bash
# Items → screening → the families that pass → gate → table and figure. MODEL is the checkpoint's folder. The same command
# continues where it stopped. See ../plan-knowing-judge.md
set -euo pipefail
here=docs/evidence/knowing-judge data=data/knowing-judge
: "${MODEL:=Qwen/Qwen2.5-Coder-1.5B-Instruct}"
python $here/items.py $data/all
screening=$(evenhand sample $here/screening.yaml model.name="$MODEL" | tail -1)
families=$(python $here/read.py families "$screening")
python $here/items.py $data/known $families
gate=$(evenhand sample $here/gate.yaml model.name="$MODEL" | tail -1)
python $here/read.py gate "$gate"
