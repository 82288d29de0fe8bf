#!/usr/bin/env bash
# docs/evidence/plan-unseen-wordings.md: a base that is bent in the training wordings alone, asked in the sealed ones,
# and the arms from it. Continues where it stopped.
#
#   docs/evidence/wordings/unseen.sh [SEED...]    # without seeds: the base alone, for the gate
set -euo pipefail
variants=$(python - <<'PYTHON'
from studies.dialdefer.render import SETS

asked = [name for name in SETS["training"] if name != "paper"]  # has no form for margins
words = ["{answer_order: no_first}"] + [f"{{template: {n}{order}}}" for n in asked[1:] for order in ("", ", answer_order: no_first")]
print(f"[{', '.join(words)}]")
PYTHON
)
engine='engine={kind: transformers, dtype: float32, row_tokens: 2048}'
one=$(evenhand merge "$(evenhand train configs/training/pocket-bent.yaml | tail -n 1)" | tail -n 1)
trained=$(evenhand train configs/training/pocket-bent-words.yaml name=unseen-bent "model.name=$one" "dialdefer.prompts.variants=$variants" | tail -n 1)
base=$(evenhand merge "$trained" --onto bf16 | tail -n 1)
evenhand sample configs/experiments/wordings-sealed.yaml name=sealed-bent-unseen "model.name=$base" "$engine"
[ $# = 0 ] && exit
"$(dirname "$0")"/run.sh "$base" thresholds 0 nothing
for seed in "$@"; do "$(dirname "$0")"/run.sh "$base" paired "$seed" sealed; done
