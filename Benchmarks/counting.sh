# Instructions and allocations of an operation of the H4 benchmark, counted by callgrind. The scripts that source it set $bin.

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

# The words that start the host of a mode. With the mode hops it is no host of ours: the floor, with two changes of threads for a read.
host() { # mode
  if [ "$1" = hops ]; then echo "$bin/h4-bench-floor hops %P"; else echo "$bin/h4-bench-host $1 unix-client:%P"; fi
}

# The threads of a host run on one processor, one after the other: another one, or another program, does not decide how far one of them has
# come when the next begins. Without the permission for that they share the processor with other programs.
alone=""
if command -v taskset > /dev/null; then alone="taskset -c 0"; fi
if command -v chrt > /dev/null && chrt -f 10 true 2> /dev/null; then alone="chrt -f 10 $alone"; fi

# Instructions and allocations of one operation, in all threads, between the two marks of h4-bench-load.
counted() { # scenario links active buffers mode [argument of the host...]
  local count=4000 folder done total
  if [[ "$1" = scan* ]]; then count=20000; fi
  # Three reports of each device.
  if [[ "$1" = scan* ]] && [ "$2" -gt 1000 ]; then count=$((3 * $2)); fi
  folder=$(mktemp -d)
  # shellcheck disable=SC2046,SC2086
  read -r _ done < <(
    OPERATION_MARK="$bin/liboperation-mark.so" SWIFT_DETERMINISTIC_HASHING=1 "$bin/h4-bench-load" "$1" "$count" "$2" "$3" "$4" \
      $alone valgrind -q --tool=callgrind --vgdb=no --fair-sched=try --dump-before=operation_mark \
      --callgrind-out-file="$folder/profile" $(host "$5") "${@:6}" 2> /dev/null)
  # The first profile is that of the start, the last one that of the end.
  total=$(awk '/^totals:/ { print $2 }' "$folder/profile.2" 2> /dev/null || true)
  if [ -z "$total" ] || [ -z "$done" ]; then
    echo "h4.sh: callgrind wrote no total for: $*" >&2
    exit 1
  fi
  awk -v total="$total" -v calls="$(allocator_calls "$folder/profile.2")" -v n="$done" \
    'BEGIN { printf "%.0f %.1f", total / n, calls / n }'
  rm -r "$folder"
}

# Instructions of the program's own part of one operation, called without the stack; - where it has none.
application() { # scenario mode
  local few=500 many=4500 totals=()
  for count in $few $many; do
    local file; file=$(mktemp)
    valgrind -q --tool=callgrind --callgrind-out-file="$file" "$bin/h4-bench-host" application "$1" "$2" "$count" > /dev/null 2>&1 || {
      rm -f "$file"
      echo "-"
      return
    }
    totals+=("$(awk '/^(summary|totals):/ { print $2; exit }' "$file")")
    rm -f "$file"
  done
  echo $(((totals[1] - totals[0]) / (many - few)))
}
