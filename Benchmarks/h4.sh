#!/usr/bin/env bash
# What an operation costs the whole host, from the H4 transport to the application: processor time as a ratio to the least that
# a host can do, and instructions in user space.
#
#   Benchmarks/h4.sh [ROUNDS] [--instructions]
#
# With --instructions (it needs valgrind) each row has a limit in instructions.txt, and a row above its limit fails. The third
# column there is the number of allocations that an operation may make, in all threads; a row without one is not checked.
# The application's own are among them: one for each value that a handler makes, and three for one that is a Data.
set -euo pipefail
cd "$(dirname "$0")"
rounds=${1:-5}
instructions=${2:-}
swift build -c release
bin=$(swift build -c release --show-bin-path)
pin=""
if command -v taskset > /dev/null; then pin="taskset -c 0"; fi

median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
load() { # scenario count links active buffers program...
  $pin "$bin/h4-bench-load" "$@" 2> /dev/null | cut -d' ' -f1
}

# The calls of the allocator in a profile, in which each name is written once and then given by its number.
allocator_calls() { # file
  awk '
    /^c?fn=/ {
      match($0, /\([0-9]+\)/)
      number = substr($0, RSTART, RLENGTH)
      if (length($0) > RSTART + RLENGTH) names[number] = substr($0, RSTART + RLENGTH + 1)
      if (/^cfn=/) called = names[number]
    }
    /^calls=/ && called ~ /^(malloc|calloc|realloc|aligned_alloc|posix_memalign)$/ { split($1, part, "="); sum += part[2] }
    END { printf "%d", sum }' "$1"
}

# Instructions and allocations of one operation: the difference of two runs, in which only the number of operations differs.
counted() { # scenario links active buffers mode
  local few=500 many=4500 totals=() calls=()
  # So many that the first reports of the devices, which differ a little from run to run, do not count.
  if [ "$1" = scan ]; then many=40500; fi
  for count in $few $many; do
    local file; file=$(mktemp)
    "$bin/h4-bench-load" "$1" "$count" "$2" "$3" "$4" \
      valgrind -q --tool=callgrind --callgrind-out-file="$file" "$bin/h4-bench-host" "$5" unix-client:%P > /dev/null 2>&1
    totals+=("$(awk '/^(summary|totals):/ { print $2; exit }' "$file")")
    if [ -z "${totals[-1]}" ]; then
      echo "h4.sh: callgrind wrote no total for $count operations of: $*" >&2
      exit 1
    fi
    calls+=("$(allocator_calls "$file")")
    rm -f "$file"
  done
  # The load generator warms up with a tenth of the operations; in a scan with one report of each device.
  local operations=$(((many - few) * 11 / 10))
  if [ "$1" = scan ]; then operations=$((many - few)); fi
  awk -v a="${totals[0]}" -v b="${totals[1]}" -v c="${calls[0]}" -v d="${calls[1]}" -v n="$operations" \
    'BEGIN { printf "%.0f %.1f", (b - a) / n, (d > c ? d - c : 0) / n }'
}

failures=0
layout='%-40s %10s %10s %7s %13s %9s %12s %6s\n'
printf "$layout" "operation" "floor, ns" "ours, ns" "ratio" "instructions" "limit" "allocations" "limit"
row() { # label scenario count links active buffers mode
  local floor=() ours=() mode=peripheral counts
  if [ "$2" = scan ]; then mode=scan; fi
  for _ in $(seq "$rounds"); do
    floor+=("$(load "$2" "$3" "$4" "$5" "$6" "$bin/h4-bench-floor" "$mode" %P)")
    ours+=("$(load "$2" "$3" "$4" "$5" "$6" "$bin/h4-bench-host" "$7" unix-client:%P)")
  done
  local f o n="-" limit="-" allocations="-" most="-"
  f=$(printf '%s\n' "${floor[@]}" | median)
  o=$(printf '%s\n' "${ours[@]}" | median)
  if [ -n "$instructions" ]; then
    counts=$(counted "$2" "$4" "$5" "$6" "$7") || exit 1
    read -r n allocations <<< "$counts"
    limit=$(awk -F'\t' -v label="$1" '$1 == label { print $2 }' instructions.txt)
    most=$(awk -F'\t' -v label="$1" '$1 == label { print $3 }' instructions.txt)
    if [ -n "$limit" ] && [ "$n" -gt "$limit" ]; then failures=$((failures + 1)); fi
    if [ -n "$most" ] && awk "BEGIN { exit !($allocations > $most) }"; then failures=$((failures + 1)); fi
  fi
  printf "$layout" "$1" "$f" "$o" "$(awk -v o="$o" -v f="$f" 'BEGIN { printf "%.2f", o / f }')" \
    "$n" "$limit" "$allocations" "$most"
}
row "read" read 20000 1 0 251x8 peripheral
row "read, 31 idle links beside" read 20000 32 1 251x8 peripheral
row "read, 32 links" read 20000 32 0 251x8 peripheral
row "read, 64 links" read 20000 64 0 251x8 peripheral
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
