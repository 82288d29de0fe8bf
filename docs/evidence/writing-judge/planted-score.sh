#!/bin/bash
# The scorecards of planted.sh, from its runs or from the archives planted-*.tar.xz: in writing, in another wording, by margin.
set -euo pipefail
for way in written worded short; do
  arms=() base=
  for run in runs/inference/$way-*; do
    arm=$(sed -n 's|.*runs/training/\(.*\)-[0-9a-f]*/merged.*|\1|p' "$run/config.yaml")
    if [ "$arm" ]; then arms+=("$arm=$run"); else base=$run; fi
  done
  evenhand scorecard "$base" "${arms[@]}" --all --out "runs/planted/$way"
done
