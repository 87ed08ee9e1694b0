#!/usr/bin/env bash
# What a request costs the server: CPU time, as a ratio to the least a server can do (wait, receive, send).
#
#   Benchmarks/run.sh [ROUNDS]
#
# Builds in release mode. Where the comparison servers are (../shared/perf beside the repository, or the folder named by
# BLE_PERF), also checks that ours answers octet for octet as their reference does, and runs their whole matrix.
set -euo pipefail
cd "$(dirname "$0")"
rounds=${1:-5}
swift build -c release
bin=$(swift build -c release --show-bin-path)
pin=""
if command -v taskset > /dev/null; then pin="taskset -c 0"; fi

median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

printf '%-34s %12s %12s %8s\n' "request" "floor, ns" "ours, ns" "ratio"
row() { # label scenario services characteristics
  local floor=() ours=()
  for _ in $(seq "$rounds"); do
    floor+=("$($pin "$bin/att-bench-load" "$bin/att-bench-floor" "$2" "$3" "$4")")
    ours+=("$($pin "$bin/att-bench-load" "$bin/att-bench-server" "$2" "$3" "$4")")
  done
  local f o
  f=$(printf '%s\n' "${floor[@]}" | median)
  o=$(printf '%s\n' "${ours[@]}" | median)
  printf '%-34s %12s %12s %8s\n' "$1" "$f" "$o" "$(awk -v o="$o" -v f="$f" 'BEGIN { printf "%.2f", o / f }')"
}
row "read" read 5 4
row "write" write 5 4
row "write command" command 5 4
row "notification" notification 5 4
row "services" services 5 4
row "characteristics" characteristics 5 4
row "read, 16,010 attributes" read 1000 5
row "services, 16,010" services 1000 5
row "characteristics, 16,010" characteristics 1000 5
row "by UUID, 16,010" uuid 1000 5

# Once buffers have grown, twice as many requests must not need one allocation more.
if command -v valgrind > /dev/null; then
  counted=$(mktemp -d)
  trap 'rm -rf "$counted"' EXIT
  # The load generator starts a program without options.
  printf '#!/bin/sh\nexec valgrind --log-file="%s" "%s" "$@"\n' "$counted/log" "$bin/att-bench-server" > "$counted/server"
  chmod +x "$counted/server"
  allocations() { # scenario count
    "$bin/att-bench-load" "$counted/server" "$1" 5 4 "$2" > /dev/null
    sed -n 's/.*total heap usage: \([0-9,]*\) allocs.*/\1/p' "$counted/log" | grep .
  }
  for scenario in read write command notification; do
    few=$(allocations $scenario 2000) many=$(allocations $scenario 4000)
    if [ "$few" != "$many" ]; then echo "$scenario allocates: $few for 2000, $many for 4000"; exit 1; fi
  done
  echo "no allocation once warm"
fi

perf=${BLE_PERF:-../../shared/perf}
if [ ! -f "$perf/bench.py" ]; then exit 0; fi
work=$(mktemp -d)
trap 'rm -rf "$work" "${counted:-}"' EXIT
cp -r "$perf/." "$work" && chmod -R u+w "$work"
make -s -C "$work" attload floor_server ref_server
cd "$work"
echo
for size in "5 4" "1000 5"; do
  read -r services characteristics <<< "$size"
  for scenario in read write blob discover findinfo rbtuuid fbtv; do
    for server in ref ours; do
      command=./ref_server
      if [ $server = ours ]; then command=$bin/att-bench-server; fi
      ./attload --server "$command" --scenario $scenario --n 1 --warm 1 --services "$services" --chars "$characteristics" \
        --record $server.rec > /dev/null
    done
    cmp ref.rec ours.rec
  done
done
echo "octet for octet as the reference server, at 75 and at 16,010 attributes"
python3 bench.py --out out.jsonl --rounds "$rounds" --server ref=./ref_server --server ours="$bin/att-bench-server" \
  --only '^(read|write|blob|wcmd|notify|multi|discover|readrnd|findinfo|rbtuuid|fbtv|mem)' 2> /dev/null
python3 report.py out.jsonl
