#!/bin/sh
# The front door: sets the repository up, if needed, and runs the requested script.
#
#   1. Look at the command line: help and the error for an unknown script need no setup.
#   2. Look at the machine: Node 20 or newer, and npm.
#   3. Run `npm ci`, unless the stamp in node_modules says that it was done for this lockfile.
#   4. Run the script on Node 24, which the npm package `node` provides.
#
# A program (`node <file>`) replaces this shell, in the folder of the caller, so that relative
# paths, signals and exit codes are its own; all other scripts go through `npm run`. Messages of the
# setup go to standard error. Exit code 2: the request cannot be carried out here, and one sentence
# says why.
set -eu

caller=$PWD
CDPATH='' cd -- "$(dirname -- "$0")"
root=$PWD
stamp_file=node_modules/.set-up-by-run.sh

main() {
  script=bench:crawl-rate
  case "${1-}" in
    help | --help | -h) print_help && exit 0 ;;
    '' | -*) ;; # Options without a script are for the evaluation.
    *) script=$1 && shift ;;
  esac
  command=$(scripts | sed -n "s/^$(quoted "$script")	//p")
  [ -n "$command" ] || refuse "There is no script $script; there are: $(script_names)."

  need_node_and_npm
  set_up
  node=$(node_24)
  case "$command" in
    'node '*' '*) ;;
    'node '*)
      cd -- "$caller"
      exec "$node" "$root/${command#node }" "$@"
      ;;
  esac
  exec npm run --silent "$script" -- "$@"
}

print_help() {
  cat <<HELP
./run.sh [options]            sets up, then runs the quick evaluation: figure 7 of the paper, on this machine
./run.sh test                 sets up, then checks the code and passes all tests
./run.sh <script> [options]   sets up, then runs a script of package.json with these options

Scripts: $(script_names)
Options: ./run.sh <script> --help, for the scripts that measure or report

Needs Node 20 or newer, and npm. Setting up is npm ci, once; it brings the Node 24 that measurements use.
HELP
}

# The scripts of package.json, each as: name, tab, command. Without Node, which may be missing.
scripts() {
  sed -n '/^  "scripts": {/,/^  }/s/^    "\([^"]*\)": "\(.*\)",\{0,1\}$/\1	\2/p' package.json
}

script_names() {
  scripts | cut -f 1 | paste -s -d ' ' - | sed 's/ /, /g'
}

# A text, escaped for a sed pattern.
quoted() {
  printf '%s\n' "$1" | sed 's/[][\.*^$/]/\\&/g'
}

refuse() {
  printf '%s\n' "$1" >&2
  exit 2
}

need_node_and_npm() {
  command -v node >/dev/null || refuse 'Node 20 or newer is needed, and there is no node on PATH.'
  [ "$(major_version node)" -ge 20 ] ||
    refuse "Node 20 or newer is needed, and the node on PATH is $(node --version 2>&1 | head -n 1)."
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

# The stamp is written last, so a missing or incomplete node_modules has no stamp or a wrong one.
set_up() {
  wanted=$(dependencies_hash)
  without_node="$wanted, without its own Node, npm's ignore-scripts being"
  case "$(cat "$stamp_file" 2>/dev/null || :)" in
    "$wanted") own_node_runs || install ;;
    "$without_node $(ignore_scripts)") ;; # To install again would change nothing.
    *) install ;;
  esac
}

install() {
  echo 'Setting up: npm ci installs the dependencies (once, about 720 MB on the disk).' >&2
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
  own_node_runs || stamp="$without_node $(ignore_scripts)"
  printf '%s' "$stamp" >"$stamp_file"
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

# The repository's own Node; where npm may not run the script that installs it, a Node 24 on PATH.
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
