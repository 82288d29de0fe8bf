#!/usr/bin/env bash
# Serve a model with vLLM, sample from it, and shut it down: serve.sh SERVING_CONFIG SAMPLING_CONFIG [key=value ...].
# Several servers are several shards: SERVE_SHARDS tasks of an array, each with a server of its own. It listens on
# SERVE_HOST, which is loopback, and wants a key that only this job knows, or that of EVENHAND_SERVE_KEY.
set -euo pipefail
. slurm/job.sh

if [ $# -lt 2 ]; then
  sed -n '2,4s/^# //p' slurm/serve.sh >&2
  exit 2
fi
serving=$1
read_words "${@:2}"
for config in "$serving" "${words[0]}"; do
  [ -f "$config" ] || { echo "slurm/serve.sh: no file $config; paths start at the checkout" >&2; exit 2; }
done
if ! grep -Eq 'kind: *openai' "${words[0]}"; then
  echo "slurm/serve.sh: ${words[0]} does not say 'kind: openai'; take configs/inference/server.yaml, or" \
    "slurm/sample.sh for an engine without a server" >&2
  exit 2
fi
# The key is in the environment, not among the words, which anyone on the node sees. A server without one answers anyone.
: "${EVENHAND_SERVE_KEY:=$(od -An -N 24 -tx1 /dev/urandom | tr -d ' \n')}"
export EVENHAND_SERVE_KEY VLLM_API_KEY=$EVENHAND_SERVE_KEY
# Below 32768, from where the system deals out ports to whoever asks for any.
port=${SERVE_PORT:-$((20000 + ${SLURM_JOB_ID:-$$} % 12000))}
log=$(realpath -m "$LOGS")/serve-${SLURM_JOB_ID:-$$}.log
mkdir -p "$(dirname "$log")"
if (: > "/dev/tcp/$SERVE_HOST/$port") 2> /dev/null; then
  echo "slurm/serve.sh: port $port of $SERVE_HOST is taken; set SERVE_PORT to another one" >&2
  exit 1
fi
if [ "$SERVE_GPUS" = 0 ]; then # the command of vLLM's CPU build does not start
  program=(python -m vllm.entrypoints.openai.api_server)
  export VLLM_CPU_OMP_THREADS_BIND=nobind VLLM_CPU_NUM_OF_RESERVED_CPU=0 OMP_NUM_THREADS=$SERVE_CPUS
else
  program=(vllm serve --tensor-parallel-size "$SERVE_GPUS")
fi

is_healthy() {
  (
    exec 3<> "/dev/tcp/$SERVE_HOST/$port" || exit 1
    printf 'GET /health HTTP/1.0\r\nHost: localhost\r\n\r\n' >&3
    IFS= read -r -t 10 status <&3 && [[ $status == *" 200"* ]]
  ) 2> /dev/null
}

# However this script ends. What does not end by itself in half a minute (it may be frozen) is killed.
shut_down() {
  local left=30
  [ -n "$server" ] || return 0
  kill -TERM -- "-$server" 2> /dev/null || true
  while kill -0 -- "-$server" 2> /dev/null && [ "$left" -gt 0 ]; do
    sleep 1
    left=$((left - 1))
  done
  kill -KILL -- "-$server" 2> /dev/null || true
}
server=''
trap shut_down EXIT
trap 'exit 143' TERM

set -m # a process group of its own, since vLLM starts further processes
# shellcheck disable=SC2086  # SERVE_OPTIONS holds several words
(run_program "${program[@]}" --config "$serving" $SERVE_OPTIONS --host "$SERVE_HOST" --port "$port") > "$log" 2>&1 &
set +m
server=$!
began=$SECONDS
# Its own server first: another job's may answer at the same port.
until kill -0 "$server" 2> /dev/null && is_healthy; do
  if ! kill -0 "$server" 2> /dev/null || [ $((SECONDS - began)) -ge "$SERVE_WAIT" ]; then
    echo "slurm/serve.sh: the server did not come up within $SERVE_WAIT s; the end of $log:" >&2
    tail -n 20 "$log" >&2
    exit 1
  fi
  sleep 1
done
echo "the server is healthy; its log: $log" >&2
make_note evenhand sample "${words[@]}" run.root="$RUN_ROOT" engine.base_url="http://$SERVE_HOST:$port/v1" \
  engine.api_key_env=EVENHAND_SERVE_KEY --shard "${SLURM_ARRAY_TASK_ID:-0}/$SERVE_SHARDS"
