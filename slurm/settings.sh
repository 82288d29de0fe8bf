# shellcheck shell=bash
# All that differs between clusters and projects. Edit here, or set any of it in the environment; `set -a` hands it to
# the jobs as it was when they were submitted.
set -a

# Paths, all on a disk that the login node and the compute nodes see. Relative ones start at the checkout.
: "${VENV=.venv}"                            # made with `make venv-cuda`; empty takes what PATH has
: "${RUN_ROOT:=runs}"                        # results
: "${LOGS:=logs}"                            # one log for each job and array task
: "${HF_HOME:=$HOME/.cache/huggingface}"     # models, brought by `evenhand fetch` on the login node
: "${EVENHAND_CACHE:=$HOME/.cache/evenhand}" # the embedded model
# What vLLM, Triton and inductor have compiled. It may be a node's own disk; each node then compiles for itself.
: "${KERNEL_CACHE:=$HOME/.cache}"

# What a job's programs run in.
: "${MODULES:=}" # of `module load`, for example "cuda/13.0 python/3.11"
: "${STAGE:=}"   # a command for the node before anything else, in single quotes so that it is expanded there
: "${WRAP:=}"    # words before every program, for example "apptainer exec --nv evenhand.sif"; VENV lies inside, then

# Where jobs go; empty takes the cluster's default. With SAMPLE_, SERVE_, TRAIN_, MERGE_ or SCORE_ before it, of that kind
# alone: SCORE_PARTITION=cpu, TRAIN_ACCOUNT=large.
: "${PARTITION:=}"
: "${ACCOUNT:=}"
: "${QOS:=}"
: "${CONSTRAINT:=}"
: "${GPU=gpu:a100}" # as `sinfo -o %G` names it, "gpu" where it names no type; empty leaves the request to EXTRA
# Further sbatch options of every job, for example "--exclude=node07 --mail-type=FAIL" or, beside GPU=,
# "--gpus-per-node=a100:1"
: "${EXTRA:=}"

# Configs of other studies, each with key=value words behind it, which the pipeline then samples for the base and every
# arm, for example "configs/narrator/qwen2.5-7b.yaml verdict=options sampling.n=1 sampling.structured=none"
: "${STUDIES:=}"

# key=value words for every training config, for example "optimiser.n_processes=4 optimiser.per_device_batch_size=4"
: "${TRAIN_OPTIONS:=}"
: "${MERGE_OPTIONS:=}" # of `evenhand merge`, for example "--onto nf4"

# How several GPUs train together (docs/several-gpus.md): a file of configs/accelerate; empty
# takes the one for the number of GPUs and nodes.
: "${TRAIN_LAUNCH:=}"

# Merging takes the memory of one weight file; its check holds the model, on MERGE_GPUS GPUs of this node (a 70B: 2 of
# 80 GB, and 02:00:00) or in MERGE_MEM.
# Resources. GPUs are counted on one node; SAMPLE_GPUS must equal the config's engine.tensor_parallel_size, TRAIN_GPUS x
# TRAIN_NODES the config's optimiser.n_processes.
# Engines at a time. Each takes minutes to start, and one A100 some five for a full evaluation by margins.
: "${SAMPLE_SHARDS:=1}" "${ARRAY_LIMIT:=}" # the latter: tasks of an array that run at a time; empty: as many as fit
: "${SAMPLE_GPUS:=1}" "${SAMPLE_CPUS:=8}" "${SAMPLE_MEM:=64G}" "${SAMPLE_TIME:=04:00:00}"
: "${TRAIN_NODES:=1}" "${TRAIN_GPUS:=1}" "${TRAIN_TIME:=24:00:00}"
: "${TRAIN_CPUS:=$((8 * (TRAIN_GPUS > 1 ? TRAIN_GPUS : 1)))}" "${TRAIN_MEM:=$((64 + 32 * (TRAIN_GPUS > 1 ? TRAIN_GPUS : 1)))G}"
: "${MERGE_GPUS:=$((TRAIN_GPUS > 0))}" "${MERGE_CPUS:=8}" "${MERGE_MEM:=48G}" "${MERGE_TIME:=01:00:00}"
: "${SCORE_GPUS:=0}" "${SCORE_CPUS:=4}" "${SCORE_MEM:=16G}" "${SCORE_TIME:=00:30:00}"

# The server of slurm/serve.sh, on SERVE_GPUS (0: CPUs): it listens on SERVE_HOST at SERVE_PORT (empty: one by the job's
# id), and must be healthy within SERVE_WAIT seconds. SERVE_OPTIONS are words for vLLM behind its config, for example
# "--model runs/training/x/merged-bf16 --served-model-name x". SERVE_SHARDS servers at a time, each with its shard.
: "${SERVE_SHARDS:=1}" "${SERVE_HOST:=127.0.0.1}" "${SERVE_PORT:=}" "${SERVE_WAIT:=1800}" "${SERVE_OPTIONS:=}"
: "${SERVE_GPUS:=1}" "${SERVE_CPUS:=8}" "${SERVE_MEM:=64G}" "${SERVE_TIME:=04:00:00}"

# Seconds before its time limit at which a sampling or training job is stopped and requeues itself: a step of training,
# a checkpoint and a minute of Slurm's own must fit; 0 lets it end there. Where nothing was computed between so many of
# them in a row, it is not requeued again.
: "${STOP_BEFORE:=300}" "${REQUEUES_IN_VAIN:=3}"

set +a
