#!/usr/bin/env bash
# Stands in for srun: a process a node, at once.
while [[ $1 == --* ]]; do shift; done
export SLURM_NODEID
for SLURM_NODEID in 0 1; do "$@" & done
wait -n
