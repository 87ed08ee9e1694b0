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

# Instructions and allocations of one operation: the difference of two runs, in which only the number of operations differs.
counted() { # scenario links active buffers mode [argument of the host...]
  local few=500 many=4500 totals=() calls=()
  # So many that the first reports of the devices, which differ a little from run to run, do not count.
  if [[ "$1" = scan* ]]; then many=$((40000 + few)); fi
  if [[ "$1" = scan* ]] && [ "$2" -gt 1000 ]; then many=$((400000 + few)); fi
  for count in $few $many; do
    local file; file=$(mktemp)
    "$bin/h4-bench-load" "$1" "$count" "$2" "$3" "$4" \
      valgrind -q --tool=callgrind --callgrind-out-file="$file" $(host "$5") "${@:6}" > /dev/null 2>&1
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
  if [[ "$1" = scan* ]]; then operations=$((many - few)); fi
  awk -v a="${totals[0]}" -v b="${totals[1]}" -v c="${calls[0]}" -v d="${calls[1]}" -v n="$operations" \
    'BEGIN { printf "%.0f %.1f", (b - a) / n, (d > c ? d - c : 0) / n }'
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
