#!/usr/bin/env bash
# What an operation costs the whole host, from the H4 transport to the application: processor time as a ratio to the least that
# a host can do, and what Bumble takes in the same run; and instructions in user space.
#
#   Benchmarks/h4.sh [ROUNDS] [--instructions]
#
# With --instructions (it needs valgrind) each row has a limit in instructions.txt, and a row above its limit fails. The packets come in
# steps (h4-bench-load), so that the counts do not depend on what else the computer does. The third
# column there is the number of allocations that an operation may make, in all threads; a row without one is not checked.
# The application's own are among them: one for each value that a handler makes, and three for one that is a Data. The
# limit of attributes that are found is one of processor time, in nanoseconds.
#
# Of the instructions, the column "application" has those of the program's own handler: what it does for an operation, called alone. The
# limits include them; a budget of the stack does not.
#
# The row "floor of two hops" is no host of ours: it is the floor, which answers each read behind a block on a serial queue of Dispatch
# and a wakeup of its loop. A dynamic read of a delegate or a task cannot cost less.
#
# Bumble is measured where its Python environment is (BUMBLE_PYTHON, or that of the end-to-end tests), with a twentieth of the operations.
set -euo pipefail
cd "$(dirname "$0")"
rounds=${1:-5}
instructions=${2:-}
python=${BUMBLE_PYTHON:-../.cache/python/bin/python}
if [ -n "$instructions" ] || ! "$python" -c 'import bumble' 2> /dev/null; then python=""; fi
swift build -c release
bin=$(swift build -c release --show-bin-path)
source ./counting.sh
pin=""
if command -v taskset > /dev/null; then pin="taskset -c 0"; fi

median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
load() { # scenario count links active buffers program...
  $pin "$bin/h4-bench-load" "$@" 2> /dev/null | cut -d' ' -f1
}

failures=0
layout='%-40s %10s %10s %7s %11s %12s %13s %12s %9s %12s %6s\n'
printf "$layout" "operation" "floor, ns" "ours, ns" "ratio" "Bumble, ns" "Bumble/ours" "instructions" "application" "limit" "allocations" "limit"
row() { # label scenario count links active buffers mode
  local floor=() ours=() bumble=() mode=peripheral counts
  if [ "$2" = scan ]; then mode=scan; fi
  for _ in $(seq "$rounds"); do
    floor+=("$(load "$2" "$3" "$4" "$5" "$6" "$bin/h4-bench-floor" "$mode" %P)")
    ours+=("$(load "$2" "$3" "$4" "$5" "$6" $(host "$7"))")
    # The other modes are those of our APIs.
    if [ -n "$python" ] && [ "$7" = "$mode" ]; then
      bumble+=("$(load "$2" $(($3 / 20)) "$4" "$5" "$6" "$python" bumble_host.py "$mode" %P)")
    fi
  done
  local f o b="-" share="-" n="-" own="-" limit="-" allocations="-" most="-"
  f=$(printf '%s\n' "${floor[@]}" | median)
  o=$(printf '%s\n' "${ours[@]}" | median)
  if [ "${#bumble[@]}" -gt 0 ]; then
    b=$(printf '%s\n' "${bumble[@]}" | median)
    share=$(awk -v o="$o" -v b="$b" 'BEGIN { printf "%.0f", b / o }')
  fi
  if [ -n "$instructions" ]; then
    counts=$(counted "$2" "$4" "$5" "$6" "$7") || exit 1
    read -r n allocations <<< "$counts"
    own=$(application "$2" "$7")
    limit=$(awk -F'\t' -v label="$1" '$1 == label { print $2 }' instructions.txt)
    most=$(awk -F'\t' -v label="$1" '$1 == label { print $3 }' instructions.txt)
    if [ -n "$limit" ] && [ "$n" -gt "$limit" ]; then failures=$((failures + 1)); fi
    if [ -n "$most" ] && awk "BEGIN { exit !($allocations > $most) }"; then failures=$((failures + 1)); fi
  fi
  printf "$layout" "$1" "$f" "$o" "$(awk -v o="$o" -v f="$f" 'BEGIN { printf "%.2f", o / f }')" "$b" "$share" \
    "$n" "$own" "$limit" "$allocations" "$most"
}
# The processor time of a host that publishes 10,500 attributes, from its start until a central has discovered them, less that of a
# host that only constructs their objects.
publication() { # label mode
  local all=() constructed=() limit
  for _ in $(seq "$rounds"); do
    all+=("$(load publication 1 1 0 251x8 "$bin/h4-bench-host" "$2" unix-client:%P 10500)")
    constructed+=("$(load publication 1 1 0 251x8 "$bin/h4-bench-host" "$2" unix-client:%P 10500 constructed)")
  done
  local spent=$(($(printf '%s\n' "${all[@]}" | median) - $(printf '%s\n' "${constructed[@]}" | median)))
  limit=$(awk -F'\t' -v label="$1" '$1 == label { print $2 }' instructions.txt)
  if [ -n "$limit" ] && [ "$spent" -gt "$limit" ]; then failures=$((failures + 1)); fi
  printf '%-40s %10s %10s %7s %13s %9s\n' "$1" "-" "$spent" "-" "(ns)" "$limit"
}
publication "10,500 attributes found, delegate" peripheral
publication "10,500 attributes found, Swift API" peripheral-swift
row "read" read 20000 1 0 251x8 peripheral
row "read, 31 idle links beside" read 20000 32 1 251x8 peripheral
row "read, 32 links" read 20000 32 0 251x8 peripheral
row "read, 64 links" read 20000 64 0 251x8 peripheral
row "floor of two hops" dynamic 10000 1 0 251x8 hops
row "dynamic read, delegate" dynamic 10000 1 0 251x8 peripheral
row "dynamic read, Swift API" dynamic 10000 1 0 251x8 peripheral-swift
row "dynamic read, on the stack's thread" dynamic 10000 1 0 251x8 peripheral-synchronous
row "dynamic read, buffers 27x1" dynamic 10000 1 0 27x1 peripheral
row "write command, delegate" command 20000 1 0 251x8 peripheral
row "write command, on the stack's thread" command 20000 1 0 251x8 peripheral-synchronous
row "write command, stored" command 20000 1 0 251x8 peripheral-stored
row "notification" notification 20000 1 0 251x8 peripheral
row "notification, 32 links" notification 20000 32 0 251x8 peripheral
row "notification, buffers 27x1" notification 20000 1 0 27x1 peripheral
row "scan report, filtered" scan 20000 100 0 251x8 scan-once
row "scan report, delegate" scan 20000 100 0 251x8 scan
row "scan report, Swift API" scan 20000 100 0 251x8 scan-swift
row "filtered, 32,768 devices" scan 70000 32768 0 251x8 scan-once
row "delegate, 32,768 devices" scan 70000 32768 0 251x8 scan
row "Swift API, 32,768 devices" scan 70000 32768 0 251x8 scan-swift
if [ "$failures" -gt 0 ]; then
  echo "$failures rows are above their limits in instructions.txt"
  exit 1
fi
