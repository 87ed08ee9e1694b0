#!/usr/bin/env bash
# Whether an operation allocates memory, through the whole stack: reads, writes and write commands of stored values, and notifications
# by a delegate, over H4.
#
#   Benchmarks/allocations.sh [--build]
#
# With --build the programs are built, and no more.
#
# The calls of the allocator in all threads of the host are counted during 100,000 operations. The one that DispatchQueue.async makes for each
# hop to the queue of a delegate does not count. A row above its limit fails: one call in a thousand operations, because threads begin and
# buffers grow at any time.
set -euo pipefail
cd "$(dirname "$0")"
: "${SWIFT:=swift}"
for product in h4-bench-load h4-bench-host allocation-counter; do "$SWIFT" build -c release --product "$product" | tail -n 1; done
[ "${1:-}" != --build ] || exit 0
bin=$("$SWIFT" build -c release --show-bin-path)
operations=100000
failures=0
printf '%-40s %14s %14s %14s\n' "operation" "hops" "allocations" "limit"
row() { # label scenario links buffers mode
  local label=$1 spent=0 done=0 calls="" hops=0
  read -r spent done calls hops < <(
    ALLOCATION_COUNTER="$bin/liballocation-counter.so" \
      "$bin/h4-bench-load" "$2" "$operations" "$3" 0 "$4" "$bin/h4-bench-host" "$5" unix-client:%P 2> /dev/null)
  if [ -z "$calls" ]; then
    echo "allocations.sh: the benchmark of \"$label\" failed" >&2
    exit 1
  fi
  calls=$((calls > hops ? calls - hops : 0))
  local limit=$((done / 1000))
  if [ "$calls" -gt "$limit" ]; then failures=$((failures + 1)); fi
  printf '%-40s %14s %14s %14s\n' "$label" "$hops" "$calls" "$limit"
}
row "read" read 1 251x8 peripheral
row "read, 32 links" read 32 251x8 peripheral
row "read, buffers 27x1" read 1 27x1 peripheral
row "write, stored" write 1 251x8 peripheral-stored
row "write command, stored" command 1 251x8 peripheral-stored
row "notification" notification 1 251x8 peripheral
row "notification, buffers 27x1" notification 1 27x1 peripheral
row "notification, 32 links" notification 32 251x8 peripheral
if [ "$failures" -gt 0 ]; then
  echo "$failures operations allocate"
  exit 1
fi
echo "no operation allocates"
