#!/usr/bin/env bash
# Look at a compute node with the eyes of a job, and estimate memory and time on its GPU:
# doctor.sh CONFIG [key=value ...] [CONFIG ...], as for `evenhand doctor`.
set -euo pipefail
. slurm/job.sh

evenhand doctor "$@"
