#!/bin/sh
# The clustering as a pipeline of streaming programs joined by GNU sort, which the MapReduce must
# beat.
#
#   documents-0 -> map 1 -> sort \
#                                 merge -> reduce 1 -> later phases
#   documents-1 -> map 1 -> sort /
#
#   later phases: map 2 -> sort -> reduce 2 -> map 3 -> sort -> reduce 3
#
# It is the fastest of the five arrangements that we tried. Phase 1, which handles nearly all the
# bytes, maps and sorts every input file in a process of its own, and merges; the later phases run
# while the earlier ones still write, with no files between them. Whole lines are compared as bytes
# (no -k), which is faster and still brings equal keys together.
#
# Environment: NODE, MAP, REDUCE (programs), WORK (an empty folder), OUTPUT (a file), MEMORY_EACH
# (in KiB, for each parallel sort of phase 1), MEMORY_ALL (in KiB, for the later sorts), THREADS
# (for the later sorts). Arguments: the input files. All pipes are made before anything runs.
set -eu
export LC_ALL=C

map() { "$NODE" "$MAP" --phase "$1"; }
reduce() { "$NODE" "$REDUCE" --phase "$1"; }
sort_all() { sort -S "${MEMORY_ALL}K" --parallel="$THREADS" -T "$WORK"; }

number=0
for input in "$@"; do
  mkfifo "$WORK/sorted-$number"
  (map 1 <"$input" | sort -S "${MEMORY_EACH}K" --parallel=1 -T "$WORK" >"$WORK/sorted-$number") &
  number=$((number + 1))
done
sort -m --batch-size="$((number + 1))" "$WORK"/sorted-* |
  reduce 1 | map 2 | sort_all | reduce 2 | map 3 | sort_all | reduce 3 >"$OUTPUT"
wait
sync "$OUTPUT"
