#!/usr/bin/env bash
# tests/under_load.sh [RUNS [PATH …]]: runs `make test` RUNS times (3), or the tests of these paths, beside two processes
# that never rest. Each run has examples and kills by a seed of its own: `make test SEED=…` repeats it. The exit status
# is 1 if a run failed.
set -uo pipefail
set -m # each job is a group of processes, which is ended as a whole
cd "$(dirname "$0")/.."
runs=${1:-3}
shift
if ! [[ $runs =~ ^[1-9][0-9]*$ ]]; then
  echo "usage: tests/under_load.sh [RUNS [PATH …]]" >&2
  exit 2
fi

loops=()
job=

stop() {
  trap - EXIT INT TERM HUP
  kill "${loops[@]}" 2> /dev/null
  [[ $job ]] || return
  # Tests that are interrupted stop their servers. They are not where the shell that started this ignores interrupts.
  kill -INT -- "-$job" 2> /dev/null
  local deadline=$((SECONDS + 30))
  while kill -0 -- "-$job" 2> /dev/null; do
    if ((SECONDS >= deadline)); then
      kill -TERM -- "-$job"
      break
    fi
    sleep 0.1
  done
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

burn() {
  while kill -0 $$ 2> /dev/null; do # also ends when the script is killed
    for ((turn = 0; turn < 100000; turn++)); do :; done
  done
}
for _ in 1 2; do
  burn < /dev/null > /dev/null &
  loops+=($!)
  disown
done

# Not in the foreground, where a signal would wait until it ends.
run_make() {
  make "$@" < /dev/null &
  job=$!
  wait "$job"
  local status=$?
  job=
  return "$status"
}

run_make setup || exit
failed=0
for ((run = 1; run <= runs; run++)); do
  seed=$((RANDOM * 32768 + RANDOM))
  echo "run $run of $runs: SEED=$seed"
  run_make test SEED="$seed" TESTS="$*"
  status=$?
  echo "run $run of $runs: SEED=$seed${*:+ TESTS=\"$*\"}, exit status $status"
  ((status == 0)) || failed=1
done
exit $failed
