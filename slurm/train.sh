#!/usr/bin/env bash
# Train an arm by its config: train.sh CONFIG [key=value|key=@FILE ...]. Continues from the last checkpoint when it was cut off.
set -euo pipefail
. slurm/job.sh
# A launcher does not pass a signal on so that a checkpoint is saved; the training looks for the stop file at each step.
# shellcheck disable=SC2034  # read in slurm/time_limit.sh
STOP_SIGNAL=''

nodes=${SLURM_NNODES:-1}
processes=$((TRAIN_GPUS * nodes))
if [ "$TRAIN_GPUS" = 0 ]; then # a process on each node
  processes=$nodes
  if [ "$nodes" = 1 ]; then TRAIN_LAUNCH=${TRAIN_LAUNCH:-configs/accelerate/cpu.yaml}; fi
fi
if [ -z "$TRAIN_LAUNCH" ]; then
  TRAIN_LAUNCH=configs/accelerate/one-gpu.yaml
  if [ "$processes" -gt 1 ]; then TRAIN_LAUNCH=configs/accelerate/ddp.yaml; fi
  if [ "$nodes" -gt 1 ]; then TRAIN_LAUNCH=configs/accelerate/ddp-two-nodes.yaml; fi
fi
launch=(--config_file "$TRAIN_LAUNCH" --num_processes "$processes" --num_machines "$nodes")
read -ra options <<< "$TRAIN_OPTIONS"
read_words -m training "$@" "${options[@]}" run.root="$RUN_ROOT"
if [ "$nodes" -gt 1 ]; then
  hosts=$(scontrol show hostnames "$SLURM_JOB_NODELIST") # no `| head`: what it cuts off would fail under pipefail
  launch+=(--main_process_ip "${hosts%%$'\n'*}" --main_process_port $((20000 + SLURM_JOB_ID % 12000)))
  # shellcheck disable=SC2016  # each node has a SLURM_NODEID of its own
  # srun takes no --cpus-per-task from sbatch, and one node that dies must not leave the others waiting.
  make_note srun --ntasks-per-node=1 --cpus-per-task="$TRAIN_CPUS" --kill-on-bad-exit=1 \
    bash -c 'exec $WRAP "${PROGRAMS}accelerate" launch --machine_rank "$SLURM_NODEID" "$@"' launch \
    "${launch[@]}" "${words[@]}"
else
  make_note accelerate launch "${launch[@]}" --main_process_port 0 "${words[@]}"
fi
