#!/usr/bin/env bash
# The latency of a host, from the H4 transport to the application and back, by the clock of the computer: the least that a host can have
# (h4-bench-floor), and each API.
#
#   Benchmarks/latency.sh [--plot] [COUNT]
#
# "in" is the time from the packet of the controller to the program's handler, "out" the one from the program's call to the packet at the
# controller, each in microseconds: median, 99th percentile, maximum. It writes latency.tsv, and from it the picture in Docs/Performance;
# with --plot it draws what latency.tsv has. The programs run with real-time priority where that is permitted, so that other programs of
# the computer do not count.
set -euo pipefail
cd "$(dirname "$0")"

draw() {
  ../scripts/python-environment ../.cache/python-curves requirements.txt
  ../.cache/python-curves/bin/python latency.py latency.tsv ../Docs/Performance/latency.svg
}
if [ "${1:-}" = --plot ]; then
  draw
  exit
fi

swift build -c release
bin=$(swift build -c release --show-bin-path)
count=${1:-2000}
priority=""
if command -v chrt > /dev/null && chrt -f 10 true 2> /dev/null; then priority="chrt -f 10"; fi
echo "priority: ${priority:-that of other programs}"
table=$(mktemp)
trap 'rm -f "$table"' EXIT
row() { # situation links active
  local mode label line
  for mode in floor latency latency-swift latency-synchronous; do
    case $mode in
      floor) label="least possible"; line=("$bin/h4-bench-floor" latency %P) ;;
      latency) label="delegate" ;;
      latency-swift) label="Swift API" ;;
      latency-synchronous) label="on the stack's thread" ;;
    esac
    if [ $mode != floor ]; then line=("$bin/h4-bench-host" $mode unix-client:%P); fi
    # shellcheck disable=SC2086
    read -r _ im i9 iw _ om o9 ow _ flood <<< "$($priority "$bin/h4-bench-load" latency "$count" "$2" "$3" 251x8 "${line[@]}" 2> /dev/null)"
    printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$1" "$label" "$im" "$i9" "$iw" "$om" "$o9" "$ow" "$flood" | tee -a "$table"
  done
}
row "one link" 1 1
row "16 links" 16 16
row "beside a flood" 2 1
cp "$table" latency.tsv
draw
