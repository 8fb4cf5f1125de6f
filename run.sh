#!/bin/sh
# The front door: sets the repository up, if needed, and runs the requested script.
#
#   1. Look at the command line: help and the error for an unknown script need no setup.
#   2. Look at the machine: Node 20 or newer, and npm where something is to be installed.
#   3. Run `npm ci`, unless the stamp in node_modules says that it was done for this lockfile.
#   4. Run the script on Node 24, which the npm package `node` provides.
#
# A program (`node <file>`) replaces this shell, in the folder of the caller, so that relative
# paths, signals and exit codes are its own; all other scripts go through `npm run`. Messages of the
# setup go to standard error. Exit code 2: the request cannot be carried out here, and one sentence
# says why.
set -eu

# A stream that the caller has closed would be the next file that a program here opens.
(exec <&0) 2>/dev/null || exec </dev/null
(exec >&1) 2>/dev/null || exec >/dev/null
(exec >&2) || exec 2>/dev/null

# This file may be called by links, say one in ~/bin.
itself=$0
while [ -L "$itself" ]; do
  target=$(readlink -- "$itself")
  case "$target" in
    /*) itself=$target ;;
    *) itself=$(dirname -- "$itself")/$target ;;
  esac
done

caller=$PWD
CDPATH='' cd -- "$(dirname -- "$itself")"
root=$PWD
stamp_file=node_modules/.set-up-by-run.sh

main() {
  script=bench:crawl-rate
  case "${1-}" in
    help | --help | -h) print_help && exit 0 ;;
    --version) print_version && exit 0 ;;
    '' | -*) ;; # Options without a script are for the evaluation.
    *) script=$1 && shift ;;
  esac
  command=$(command_of "$script")
  [ -n "$command" ] || refuse "There is no script $script;$(instead_of "$script") ./run.sh --help lists all."

  need_node
  set_up
  node=$(node_24)
  case "$command" in
    'node '*' '*) ;;
    'node '*)
      cd -- "$caller"
      exec "$node" "$root/${command#node }" "$@"
      ;;
  esac
  need_npm
  exec npm run --silent "$script" -- "$@"
}

print_help() {
  cat <<'HELP'
./run.sh [options]            sets up, then runs the quick evaluation: figure 7 of the paper, on this machine
./run.sh test                 sets up, then checks the code and runs all tests
./run.sh <script> [options]   sets up, then runs one of the scripts below
./run.sh <script> --help      the options of a script that measures, proves or reports
./run.sh --version            the version of this repository

Figures:
  reproduce             Which of the paper's claims hold here? (all experiments, one page)
  bench:crawl-rate      Figure 7: when does incremental processing beat a batch?
  bench:micro           Figure 8: what does a transaction cost next to a raw operation?
  bench:brokerage       Figure 9: what does an OLTP load cost next to PostgreSQL?
  bench:failover        Figure 10: what does killing a third of the tablet servers cost?
  bench:cluster         Figures 7 to 10 on the paper's machines, in virtual time

Benches:
  bench:batching        How many calls of the storage do batching and prefetching save?
  bench:oracle          How many timestamps a second does one oracle hand out?
  bench:scanners        What are locks between scanners worth?
  bench:notify-latency  How long from a write to the run of its observer?
  bench:versions        Do many old versions make reads slower?
  bench:mapreduce       Is the baseline a fair competitor? (GNU sort, DuckDB, Hadoop, Spark)
  bench:web-index       How soon can a crawled page be found, by observers and by a batch?
  bench:peers           What does the same crawl cost on other systems?
  bench:simulate        How fast is the simulator?

Verification:
  simulate              Does the engine keep its promises under every fault?
  exhaust               Does it keep them in every interleaving of small cases?
  anomalies             Which anomalies are possible? (the tests of Hermitage, on every store)
  model                 Do leases and the second phase hold in a model of them? (TLA+)
  mutants               Would the judges notice the known mistakes?
  mutants:machine       Would the tests notice any small change of the engine?
  chaos                 Do real processes survive kill -9 and long pauses?

Tools:
  explore               What happens when a process dies there? (the engine in your browser, step by step)
  web-index             What was Percolator built for? (search a crawl while it loads)
  agent                 Can the processes of a run be on several hosts? (one on each)
  percolator            How does a database run on many hosts? (oracle, locks, worker, status)
  fsck                  Is a database in order, and can it be repaired?
  judge                 Does the history of any store satisfy snapshot isolation?
  mapreduce             What do map and reduce steps make of files? (Hadoop and Spark too)
  calibrate             What does an operation cost here? (for bench:cluster, from records)
  plan-cluster          What cluster does a load need? (simulated before it is rented)
  tune                  Which settings of batching and prefetching suit a workload?
  compare               Is a run better or worse than another, metric by metric?
  compare:commit        What has changed since a commit? (measures both, in turns)
  runs                  Which runs were measured here, and which of them can go?
  report                What did a run find? (its page again; with --all, one of all runs)
  fetch                 What do optional parts need? (brings HBase, Hadoop, TLA tools, Deno, Bun, kerberos)
  archive               How is this installed where there is no network? (packs all it needs)
  pack:engine           How can another project use the engine? (makes a package)

Development:
  test                  Is everything in order? (check, then all tests)
  check                 Are types, layers, format and exports in order? (the next four)
  typecheck             Do the types agree?
  lint                  Does the code keep the rules of layers and style?
  format:check          Is every file formatted?
  unused                Is there code that nothing uses?
  format                Formats all files.
  lines                 How many lines and modules does each folder have?
  artifact              Writes ARTIFACT.md, docs/columns.md and docs/run.schema.json.
  references            Makes the runs in results/reference again, each by its own command: hours.
  options               Writes docs/options.md, the options of all scripts.
  relock                Writes package-lock.json, after a change of dependencies.

Needs Node 20 or newer, and npm. Setting up is npm ci, once; it brings the Node 24 that measurements use.
HELP
}

print_version() {
  sed -n 's/^  "version": "\(.*\)",$/percolator-bench \1/p' package.json
}

# The scripts of package.json, each as: name, tab, command. Without Node, which may be missing.
scripts() {
  sed -n '/^  "scripts": {/,/^  }/s/^    "\([^"]*\)": "\(.*\)",\{0,1\}$/\1	\2/p' package.json
}

command_of() {
  scripts | wanted=$1 awk -F '	' '$1 == ENVIRON["wanted"] { print $2 }'
}

# What the caller may have meant: one of a family, or the nearest name.
instead_of() {
  family=$(scripts | wanted=$1: awk -F '	' 'index($1, ENVIRON["wanted"]) == 1 { printf " %s,", $1 }')
  case "$family" in
    *,*,) echo " there are$family and" ;;
    *) nearest_to "$1" ;;
  esac
}

# The script whose name, or part of it after the colon, takes the fewest changes of a letter; none
# if more than half of the letters would change.
nearest_to() {
  scripts | wanted=$1 awk -F '	' '
    function least(a, b) { return a < b ? a : b }
    function changes(from, to,   i, j, row, above, left) {
      for (j = 0; j <= length(to); j++) row[j] = j
      for (i = 1; i <= length(from); i++) {
        above = row[0]
        row[0] = i
        for (j = 1; j <= length(to); j++) {
          left = above + (substr(from, i, 1) != substr(to, j, 1))
          above = row[j]
          row[j] = least(left, least(row[j], row[j - 1]) + 1)
        }
      }
      return row[length(to)]
    }
    BEGIN { wanted = tolower(ENVIRON["wanted"]); fewest = length(wanted) / 2 }
    {
      part = $1
      sub(/.*:/, "", part)
      count = least(changes(wanted, $1), changes(wanted, part))
      if (count < fewest || count == fewest && nearest == "") { fewest = count; nearest = $1 }
    }
    END { if (nearest != "") print " the nearest is " nearest ", and" }
  '
}

refuse() {
  printf '%s\n' "$1" >&2
  exit 2
}

# A complete installation has a Node of its own, as one from an archive has where there is no other.
need_node() {
  [ "$(major_version node)" -lt 20 ] && [ -f "$stamp_file" ] && own_node_runs &&
    PATH=$root/node_modules/.bin:$PATH
  command -v node >/dev/null || refuse 'Node 20 or newer is needed, and there is no node on PATH.'
  [ "$(major_version node)" -ge 20 ] ||
    refuse "Node 20 or newer is needed, and the node on PATH is $(node --version 2>&1 | head -n 1)."
}

need_npm() {
  command -v npm >/dev/null || refuse 'npm is needed, and is not on PATH; it usually comes with Node.'
}

# The major version of a Node; 0 if it does not run.
major_version() {
  version=$("$1" --version 2>/dev/null) || version=v0
  version=${version#v}
  version=${version%%.*}
  case "$version" in
    '' | *[!0-9]*) echo 0 ;;
    *) echo "$version" ;;
  esac
}

# `install` removes the stamp first and writes it last, so that an interrupted installation has none.
# One for another lockfile or platform has another stamp.
set_up() {
  wanted=$(dependencies_hash)
  case "$(cat "$stamp_file" 2>/dev/null || :)" in
    "$wanted") own_node_runs || install ;;
    "$(stamp_without_node)") ;; # Installing again would change nothing.
    *) install ;;
  esac
}

install() {
  need_npm
  echo 'Setting up: npm ci installs the dependencies (once, about 790 MB on the disk).' >&2
  rm -f "$stamp_file"
  # Warnings are hidden: npm would complain that this Node is not the 24 that is about to be
  # installed.
  npm ci --loglevel=error --no-audit --no-fund --no-progress --no-engine-strict \
    --include=dev --include=optional >/dev/null </dev/null &
  installing=$!
  # A signal that stops this shell must stop npm too; otherwise npm would continue and clash with
  # the next one.
  trap 'stop_installing 130' INT
  trap 'stop_installing 143' TERM HUP
  wait "$installing" || {
    echo 'Setting up failed: npm ci says why above.' >&2
    exit 1
  }
  trap - INT TERM HUP
  stamp=$wanted
  own_node_runs || stamp=$(stamp_without_node)
  printf '%s' "$stamp" >"$stamp_file"
}

# Of an installation that did not bring Node: only under another setting would a new one bring it.
stamp_without_node() {
  echo "$wanted, without its own Node, npm's ignore-scripts being $(ignore_scripts)"
}

stop_installing() {
  trap '' INT TERM HUP
  kill "$installing" 2>/dev/null || :
  wait "$installing" || :
  exit "$1"
}

# A hash of the inputs of an installation: the wanted versions, and the platform they were chosen
# for.
dependencies_hash() {
  node -e '
    const { readFileSync } = require("node:fs");
    const hash = require("node:crypto").createHash("sha256");
    const { dependencies, devDependencies, allowScripts } = JSON.parse(readFileSync("package.json"));
    process.report.excludeNetwork = true;
    const glibc = "glibcVersionRuntime" in process.report.getReport().header;
    hash.update(readFileSync("package-lock.json"));
    hash.update(JSON.stringify([dependencies, devDependencies, allowScripts]));
    hash.update(JSON.stringify([process.platform, process.arch, glibc]));
    console.log(hash.digest("hex"));
  '
}

ignore_scripts() {
  npm config get ignore-scripts 2>/dev/null
}

own_node_runs() {
  [ "$(major_version "$root/node_modules/.bin/node")" -ge 24 ]
}

# The repository's own Node; if npm has not installed it, a Node 24 or newer on PATH.
node_24() {
  if own_node_runs; then
    echo "$root/node_modules/.bin/node"
  elif [ "$(major_version node)" -ge 24 ]; then
    command -v node
  elif [ "$(ignore_scripts)" = true ]; then
    refuse 'Node 24 is missing, because npm is set to ignore the install scripts that would bring it: set npm_config_ignore_scripts=false for this command, or put a Node 24 or newer on PATH.'
  else
    refuse 'Node 24 is missing, because the npm package node, which should bring it, has not installed itself: put a Node 24 or newer on PATH.'
  fi
}

main "$@"
