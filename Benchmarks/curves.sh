#!/usr/bin/env bash
# How the cost of an operation grows: instructions in user space of the whole host, in all threads, measured by callgrind.
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
for attributes in 0 2100 21000; do
  point attributes "stored value" $((attributes + 24)) read 1 0 251x8 peripheral "$attributes"
  point attributes "on the stack's thread" $((attributes + 24)) dynamic 1 0 251x8 peripheral-synchronous "$attributes"
done
for links in 1 8 32 64 128; do
  point links "one link active" "$links" read "$links" 1 251x8 peripheral
  point links "all links active" "$links" read "$links" 0 251x8 peripheral
  point links "notifications on all links" "$links" notification "$links" 0 251x8 peripheral
done
for devices in 100 2000 32768 100000; do
  point devices "delegate" "$devices" scan "$devices" 0 251x8 scan
  point devices "filtered" "$devices" scan "$devices" 0 251x8 scan-once
  point devices "Swift API" "$devices" scan "$devices" 0 251x8 scan-swift
done
cp "$table" curves.tsv
draw
