#!/usr/bin/env bash
# Stands in for scontrol: as Slurm does, it ends the script of the job that it requeues.
echo "scontrol $*" >> "$CALLS"
case $1 in
  show) echo node7; echo node8;;
  requeue) kill "$PPID";;
esac
