#!/usr/bin/env bash
# How the cost of an operation grows: instructions in user space of the whole host, in all threads, measured by callgrind. Where an
# operation depends on how many packets come at a time, and for reports of many devices, for which callgrind is too slow, it is the
# processor time in nanoseconds: the median of five runs on one processor, with real-time priority where that is permitted.
#
#   Benchmarks/curves.sh [--plot]
#
# It takes minutes, and writes curves.tsv, and from it the pictures in Docs/Performance. With --plot it draws what curves.tsv has.
set -euo pipefail
cd "$(dirname "$0")"

draw() {
  ../scripts/python-environment ../.cache/python-curves requirements.txt
  ../.cache/python-curves/bin/python curves.py curves.tsv ../Docs/Performance
}
if [ "${1:-}" = --plot ]; then
  draw
  exit
fi

swift build -c release
bin=$(swift build -c release --show-bin-path)
source ./counting.sh
table=$(mktemp)
trap 'rm -f "$table"' EXIT
point() { # curve line x scenario links active buffers mode [argument...]
  local instructions
  read -r instructions _ <<< "$(counted "${@:4}")"
  printf '%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$instructions" | tee -a "$table"
}
priority=""
if command -v taskset > /dev/null; then priority="taskset -c 0"; fi
if command -v chrt > /dev/null && chrt -f 10 true 2> /dev/null; then priority="$priority chrt -f 10"; fi
time_point() { # curve line x scenario count mode
  local nanoseconds
  nanoseconds=$(for _ in 1 2 3 4 5; do
    # shellcheck disable=SC2086
    $priority "$bin/h4-bench-load" "$4" "$5" "$3" 0 251x8 $(host "$6") 2> /dev/null | cut -d' ' -f1
  done | sort -n | sed -n 3p)
  printf '%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$nanoseconds" | tee -a "$table"
}
for attributes in 0 2100 21000; do
  point attributes "stored value" $((attributes + 24)) read 1 0 251x8 peripheral "$attributes"
  point attributes "on the stack's thread" $((attributes + 24)) dynamic 1 0 251x8 peripheral-synchronous "$attributes"
done
for links in 1 8 32 64 128; do
  point links "one link active" "$links" read "$links" 1 251x8 peripheral
  point links "all links active" "$links" read "$links" 0 251x8 peripheral
done
for links in 1 8 32 64 128; do
  time_point traffic "notification" "$links" notification 100000 peripheral
  time_point traffic "write command, stored" "$links" command 100000 peripheral-stored
done
for devices in 100 2000 32768 65536 100000; do
  time_point devices "delegate" "$devices" scan 200000 scan
  time_point devices "filtered" "$devices" scan 200000 scan-once
  time_point devices "Swift API" "$devices" scan 200000 scan-swift
done
cp "$table" curves.tsv
draw
