#!/usr/bin/env bash
# The memory of a program that uses the Swift API: resident and anonymous, for attributes and for links.
#
#   Benchmarks/memory.sh
#
# Each row has a limit in memory.txt, in octets. A row above its limit fails. The rows "in order of use" need valgrind: they are of the
# same program, linked a second time as Docs/Performance.md tells.
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
row() { # label octets
  local limit
  limit=$(awk -F'\t' -v label="$1" '$1 == label { print $2 }' memory.txt)
  if [ -n "$limit" ] && [ "$2" -gt "$limit" ]; then failures=$((failures + 1)); fi
  printf '%-52s %12s %12s\n' "$1" "$2" "${limit:--}"
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The program with the libraries of Swift in it, linked from the objects of a build. SwiftPM gives the function main of a program a name
# of its own.
link() { # folder of the build, program, output, option...
  swiftc -O -static-stdlib -emit-executable "@$1/$2.product/Objects.LinkFileList" -o "$3" -Xlinker --gc-sections \
    -Xlinker "--defsym=main=${2//-/_}_main" "${@:4}" 2> "$work/log" || { cat "$work/log" >&2; exit 1; }
}
link "$bin" memory-bench-empty "$work/empty" -lcrypto
link "$bin" memory-bench-peripheral "$work/peripheral" -lcrypto -lbluetooth

# A build with a section for each function: the linker can put those that the program executes next to each other.
build_in_sections() { # option...
  swift build -c release --scratch-path .build/sections --product memory-bench-peripheral \
    -Xswiftc -Xfrontend -Xswiftc -function-sections -Xswiftc -use-ld=lld "$@"
}
order() { # program map : the order of the functions that it executes until a central has read a value a hundred times
  "$bin/h4-bench-load" read 100 1 0 251x8 valgrind -q --tool=callgrind --dump-instr=yes --callgrind-out-file="$work/profile" \
    "$1" unix-client:%P > /dev/null 2>&1
  ../scripts/order-sections "$2" "$work/profile" > "$2.order"
}
if command -v valgrind > /dev/null; then
  build_in_sections -Xlinker "-Map=$work/map"
  sections=$(swift build -c release --scratch-path .build/sections --show-bin-path)
  order "$sections/memory-bench-peripheral" "$work/map"
  build_in_sections -Xlinker "-T$work/map.order"
  libraries=(-use-ld=lld -lcrypto -lbluetooth)
  link "$sections" memory-bench-peripheral "$work/plain" "${libraries[@]}" -Xlinker "-Map=$work/static-map"
  order "$work/plain" "$work/static-map"
  link "$sections" memory-bench-peripheral "$work/ordered" "${libraries[@]}" -Xlinker "-T$work/static-map.order"
fi

read -r empty_resident empty_anonymous <<< "$(empty "$bin/memory-bench-empty")"
read -r static_empty _ <<< "$(empty "$work/empty")"
read -r static_resident static_anonymous <<< "$(held 0 "$work/peripheral" unix-client:%P)"
read -r resident anonymous <<< "$(held 0 "$peripheral" unix-client:%P)"
read -r _ many <<< "$(held 0 "$peripheral" unix-client:%P 21000)"
read -r _ one_link <<< "$(held 1 "$peripheral" unix-client:%P)"
read -r _ all_links <<< "$(held 64 "$peripheral" unix-client:%P)"
printf '%-52s %12s %12s\n' "memory" "octets" "limit"
row "an empty program, resident" $((empty_resident * 1024))
row "an empty program, anonymous" $((empty_anonymous * 1024))
row "a peripheral, resident, above the empty program" $(((resident - empty_resident) * 1024))
row "a peripheral, anonymous" $((anonymous * 1024))
row "an empty program, linked statically, resident" $((static_empty * 1024))
row "a peripheral, linked statically, above that" $(((static_resident - static_empty) * 1024))
row "a peripheral, linked statically, anonymous" $((static_anonymous * 1024))
if [ -n "${sections:-}" ]; then
  read -r resident anonymous_ordered <<< "$(held 0 "$sections/memory-bench-peripheral" unix-client:%P)"
  read -r static_resident static_anonymous <<< "$(held 0 "$work/ordered" unix-client:%P)"
  row "a peripheral, in order of use, above the empty one" $(((resident - empty_resident) * 1024))
  row "a peripheral, in order of use, anonymous" $((anonymous_ordered * 1024))
  row "a static peripheral, in order of use, above that" $(((static_resident - static_empty) * 1024))
  row "a static peripheral, in order of use, anonymous" $((static_anonymous * 1024))
fi
row "1,000 attributes, the database" "$("$bin/memory-bench-database" 21000)"
row "1,000 attributes, through the Swift API" $(((many - anonymous) * 1024 / 21))
row "an idle link" $(((all_links - one_link) * 1024 / 63))
if [ "$failures" -gt 0 ]; then
  echo "$failures rows are above their limits in memory.txt"
  exit 1
fi
