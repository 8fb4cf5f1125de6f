#!/bin/sh
# A chain of jobs as a pipeline of streaming programs joined by GNU sort, which the MapReduce must
# beat.
#
#   input 0 -> map 0 -> sort \
#                             merge -> reduce 0 -> map 1 -> sort -> reduce 1 -> map 2 -> ...
#   input 1 -> map 0 -> sort /
#
# It is the fastest of the five arrangements that we tried for the clustering. The first job, which
# handles nearly all the bytes, maps and sorts every input in processes of its own, and merges; the
# later jobs run while the earlier ones still write, with no files between them. Whole lines are
# compared as bytes (no -k), which is faster and still brings equal keys together.
#
# Environment: NODE and PROGRAM (the streaming program), JOB (its module), PARAMETERS (of each job,
# words), WORK (an empty folder), OUTPUT (a file), MEMORY_EACH (in KiB, for each parallel sort of
# the first job), MEMORY_ALL (in KiB, for the later sorts), THREADS (for the later sorts).
# Arguments: for each input its path, and how many bytes of it count, or "all". A pipeline's
# exit code is that of its last program, so a program that fails leaves a file, and the script fails
# if that file is there.
set -eu
export LC_ALL=C

must() { "$@" || { : >"$WORK/failed" && return 1; }; }
# As in streaming.sh: records go to descriptor 3, and what a job prints to standard error.
run() { must "$NODE" "$PROGRAM" "$1" "$JOB" "$2" 3>&1 1>&2; }
sort_all() { must sort -S "${MEMORY_ALL}K" --parallel="$THREADS" -T "$WORK"; }
map_input() {
  if [ "$2" = all ]; then
    run map "$first" <"$1"
  else
    must head -c "$2" -- "$1" | run map "$first"
  fi
}

# Reduces with the first parameters, and passes the result on to the jobs of the later ones.
reduce_and_go_on() {
  parameters=$1
  shift
  if [ $# -eq 0 ]; then
    run reduce "$parameters"
  else
    run reduce "$parameters" | run map "$1" | sort_all | reduce_and_go_on "$@"
  fi
}

first=${PARAMETERS%% *}
number=0
while [ $# -gt 0 ]; do
  mkfifo "$WORK/sorted-$number"
  (
    must map_input "$1" "$2" |
      must sort -S "${MEMORY_EACH}K" --parallel=1 -T "$WORK" >"$WORK/sorted-$number"
  ) &
  number=$((number + 1))
  shift 2
done
# shellcheck disable=SC2086
must sort -m --batch-size="$((number + 1))" "$WORK"/sorted-* | reduce_and_go_on $PARAMETERS >"$OUTPUT"
# A merge that failed before it opened the pipes has left their writers waiting for it. `kill 0`
# ends them with this script, which is started in a process group of its own.
[ ! -e "$WORK/failed" ] || kill 0
wait
[ ! -e "$WORK/failed" ]
sync "$OUTPUT"
