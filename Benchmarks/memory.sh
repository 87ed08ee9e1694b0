#!/usr/bin/env bash
# The memory of a program that uses the Swift API: resident and anonymous, for attributes and for links.
#
#   Benchmarks/memory.sh
#
# Each row has a limit in memory.txt, in octets. A row above its limit fails.
set -euo pipefail
cd "$(dirname "$0")"
swift build -c release
bin=$(swift build -c release --show-bin-path)
peripheral="$bin/memory-bench-peripheral"

held() { # links program... : resident and anonymous memory in kB
  local links=$1; shift
  "$bin/h4-bench-load" memory 1 "$links" 0 251x8 "$@" 2> /dev/null
}
empty() { # program : the same of one that does nothing
  local fifo process; fifo=$(mktemp -u); mkfifo "$fifo"
  "$1" > "$fifo" & process=$!
  read -r _ < "$fifo"
  awk '/^Rss:/ { r = $2 } /^Anonymous:/ { a = $2 } END { print r, a }' "/proc/$process/smaps_rollup"
  kill "$process"; wait "$process" 2> /dev/null || true
  rm -f "$fifo"
}

failures=0
printf '%-52s %12s %12s\n' "memory" "octets" "limit"
row() { # label octets
  local limit
  limit=$(awk -F'\t' -v label="$1" '$1 == label { print $2 }' memory.txt)
  if [ -n "$limit" ] && [ "$2" -gt "$limit" ]; then failures=$((failures + 1)); fi
  printf '%-52s %12s %12s\n' "$1" "$2" "${limit:--}"
}
# The same program with the libraries of Swift in it, linked from the objects of the build above: another build would compile the whole
# package once more. SwiftPM gives the function main of a program a name of its own.
static=$(mktemp -d)
trap 'rm -rf "$static"' EXIT
link() { # program library...
  swiftc -O -static-stdlib -emit-executable "@$bin/$1.product/Objects.LinkFileList" -o "$static/$1" -Xlinker --gc-sections \
    -Xlinker "--defsym=main=${1//-/_}_main" "${@:2}" 2> "$static/log" || { cat "$static/log" >&2; exit 1; }
}
link memory-bench-empty -lcrypto
link memory-bench-peripheral -lcrypto -lbluetooth
read -r empty_resident empty_anonymous <<< "$(empty "$bin/memory-bench-empty")"
read -r static_empty _ <<< "$(empty "$static/memory-bench-empty")"
read -r static_resident static_anonymous <<< "$(held 0 "$static/memory-bench-peripheral" unix-client:%P)"
read -r resident anonymous <<< "$(held 0 "$peripheral" unix-client:%P)"
read -r _ many <<< "$(held 0 "$peripheral" unix-client:%P 21000)"
read -r _ one_link <<< "$(held 1 "$peripheral" unix-client:%P)"
read -r _ all_links <<< "$(held 64 "$peripheral" unix-client:%P)"
row "an empty program, resident" $((empty_resident * 1024))
row "an empty program, anonymous" $((empty_anonymous * 1024))
row "a peripheral, resident, above the empty program" $(((resident - empty_resident) * 1024))
row "a peripheral, anonymous" $((anonymous * 1024))
row "an empty program, linked statically, resident" $((static_empty * 1024))
row "a peripheral, linked statically, above that" $(((static_resident - static_empty) * 1024))
row "a peripheral, linked statically, anonymous" $((static_anonymous * 1024))
row "1,000 attributes, the database" "$("$bin/memory-bench-database" 21000)"
row "1,000 attributes, through the Swift API" $(((many - anonymous) * 1024 / 21))
row "an idle link" $(((all_links - one_link) * 1024 / 63))
if [ "$failures" -gt 0 ]; then
  echo "$failures rows are above their limits in memory.txt"
  exit 1
fi
