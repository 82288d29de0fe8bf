#!/usr/bin/env bash
# Serve a model with vLLM, sample from it, and shut it down: serve.sh SERVING_CONFIG SAMPLING_CONFIG [key=value ...].
# SERVE_REPLICAS servers share the job's GPUs. They listen on SERVE_HOST, which is loopback, and want a key that only
# this job knows, or that of EVENHAND_SERVE_KEY.
set -euo pipefail
. slurm/job.sh

if [ $# -lt 2 ]; then
  sed -n '2,4s/^# //p' slurm/serve.sh >&2
  exit 2
fi
serving=$1
mapfile -t words < <(given "${@:2}")
for config in "$serving" "${words[0]}"; do
  [ -f "$config" ] || { echo "slurm/serve.sh: no file $config; paths start at the checkout" >&2; exit 2; }
done
if ! grep -Eq 'kind: *openai' "${words[0]}"; then
  echo "slurm/serve.sh: ${words[0]} does not say 'kind: openai'; take configs/inference/server.yaml, or" \
    "slurm/sample.sh for an engine without a server" >&2
  exit 2
fi
if [ $((SERVE_GPUS % SERVE_REPLICAS)) != 0 ]; then
  echo "slurm/serve.sh: SERVE_GPUS=$SERVE_GPUS cannot be shared by SERVE_REPLICAS=$SERVE_REPLICAS alike" >&2
  exit 2
fi
# The key is in the environment, not among the words, which anyone on the node sees. A server without one answers anyone.
: "${EVENHAND_SERVE_KEY:=$(od -An -N 24 -tx1 /dev/urandom | tr -d ' \n')}"
export EVENHAND_SERVE_KEY VLLM_API_KEY=$EVENHAND_SERVE_KEY
# Below 32768, from where the system deals out ports to whoever asks for any.
port=${SERVE_PORT:-$((20000 + ${SLURM_JOB_ID:-$$} * SERVE_REPLICAS % 12000))}
IFS=, read -ra gpus <<< "${CUDA_VISIBLE_DEVICES:-$(seq -s, 0 $((SERVE_GPUS - 1)))}"
servers=() urls=() logs=$(realpath -m "$LOGS")/serve-${SLURM_JOB_ID:-$$}
mkdir -p "$(dirname "$logs")"

# start_server NUMBER: in a process group of its own, since vLLM starts further processes.
start_server() {
  local each=$((SERVE_GPUS / SERVE_REPLICAS)) at=$((port + $1)) program=(vllm serve)
  if (: > "/dev/tcp/$SERVE_HOST/$at") 2> /dev/null; then
    echo "slurm/serve.sh: port $at of $SERVE_HOST is taken; set SERVE_PORT to another one" >&2
    return 1
  fi
  if [ "$each" = 0 ]; then # the command of vLLM's CPU build does not start
    program=(python -m vllm.entrypoints.openai.api_server)
    export VLLM_CPU_OMP_THREADS_BIND=nobind VLLM_CPU_NUM_OF_RESERVED_CPU=0
    export OMP_NUM_THREADS=$(((SERVE_CPUS + SERVE_REPLICAS - 1) / SERVE_REPLICAS))
  else
    CUDA_VISIBLE_DEVICES=$(IFS=, && echo "${gpus[*]:$1 * each:each}")
    export CUDA_VISIBLE_DEVICES
    program+=(--tensor-parallel-size "$each")
  fi
  set -m
  # shellcheck disable=SC2086  # SERVE_OPTIONS holds several words
  (run_program "${program[@]}" --config "$serving" $SERVE_OPTIONS --host "$SERVE_HOST" --port "$at") \
    > "$logs-$1.log" 2>&1 &
  set +m
  servers+=($!)
  urls+=("http://$SERVE_HOST:$at/v1")
}

# is_healthy NUMBER: whether a server says so.
is_healthy() {
  (
    exec 3<> "/dev/tcp/$SERVE_HOST/$((port + $1))" || exit 1
    printf 'GET /health HTTP/1.0\r\nHost: localhost\r\n\r\n' >&3
    IFS= read -r -t 10 status <&3 && [[ $status == *" 200"* ]]
  ) 2> /dev/null
}

# wait_until_healthy NUMBER: fails with the end of the server's log when it ends, or is not there after SERVE_WAIT.
wait_until_healthy() {
  local began=$SECONDS
  # Its own server first: another job's may answer at the same port.
  until kill -0 "${servers[$1]}" 2> /dev/null && is_healthy "$1"; do
    if ! kill -0 "${servers[$1]}" 2> /dev/null || [ $((SECONDS - began)) -ge "$SERVE_WAIT" ]; then
      echo "slurm/serve.sh: server $1 did not come up within $SERVE_WAIT s; the end of $logs-$1.log:" >&2
      tail -n 20 "$logs-$1.log" >&2
      return 1
    fi
    sleep 1
  done
}

# However this script ends. What does not end by itself in half a minute (it may be frozen) is killed.
shut_down() {
  local server left=30
  for server in "${servers[@]}"; do kill -TERM -- "-$server" 2> /dev/null || true; done
  for server in "${servers[@]}"; do
    while kill -0 -- "-$server" 2> /dev/null && [ "$left" -gt 0 ]; do
      sleep 1
      left=$((left - 1))
    done
    kill -KILL -- "-$server" 2> /dev/null || true
  done
}
trap 'code=$?; shut_down; [ -z "${NOTE:-}" ] || note_end "$code"' EXIT
trap 'exit 143' TERM

for ((i = 0; i < SERVE_REPLICAS; i++)); do start_server "$i"; done
for ((i = 0; i < SERVE_REPLICAS; i++)); do wait_until_healthy "$i"; done
echo "$SERVE_REPLICAS servers are healthy; their logs: $logs-*.log" >&2
words+=(run.root="$RUN_ROOT" engine.api_key_env=EVENHAND_SERVE_KEY)
# With several servers each is asked a shard of the run, all but the first by processes beside this one.
shards=() shard=()
set -m
for ((i = 1; i < SERVE_REPLICAS; i++)); do
  (run_program evenhand sample "${words[@]}" engine.base_url="${urls[i]}" --shard "$i/$SERVE_REPLICAS") >&2 &
  shards+=($!)
done
set +m
servers+=("${shards[@]}")
[ "$SERVE_REPLICAS" = 1 ] || shard=(--shard "0/$SERVE_REPLICAS")
make_note evenhand sample "${words[@]}" engine.base_url="${urls[0]}" "${shard[@]}"
for i in "${shards[@]}"; do wait "$i"; done
