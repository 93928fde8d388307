# Shared by toolchains/bootstrap and toolchains/lint: messages, timing, the lock file, the cache folder. Sourced, not run.

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
LOCK="$ROOT/toolchains/dependencies.lock"
CACHE="${LAZYRT_CACHE:-${HOME:-/tmp}/.cache/lazyrt}"
# One locale: for the order of `sort`, and because the compiler cache keys on it and Python sets one for what it starts.
export LC_ALL=C.UTF-8
JOBS="${LAZYRT_JOBS:-$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)}"

say() { printf '[lazyrt] %s\n' "$*"; }
warn() { printf '[lazyrt] warning: %s\n' "$*" >&2; }

# die WHAT [WHAT TO DO]...: the last message of a failed run, each argument a line.
die() {
  printf '\n[lazyrt] FAILED: %s\n' "$1" >&2
  shift
  [ $# -eq 0 ] || printf '[lazyrt]   %s\n' "$@" >&2
  exit 1
}

# logged NAME COMMAND...: runs it without stdin, its output in $CACHE/logs/NAME.log; says how long it took.
logged() {
  local name="$1" log="$CACHE/logs/$1.log" start=$SECONDS status=0
  shift
  mkdir -p "$CACHE/logs"
  "$@" >"$log" 2>&1 </dev/null || status=$?
  say "  $name: $((SECONDS - start)) s, log in $log"
  return $status
}

log_tail() { tail -n "${2:-15}" "$CACHE/logs/$1.log" | sed 's/^/    | /' >&2; }

# lock_lines KIND: the lines of the lock file of that kind, without the kind.
lock_lines() { awk -v kind="$1" '$1 == kind { $1 = ""; sub(/^ /, ""); print }' "$LOCK"; }

have() { command -v "$1" >/dev/null 2>&1; }

# version_at_least HAVE WANT: compares dotted numbers.
version_at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

sha256_of() { sha256sum "$1" | cut -d ' ' -f 1; }

use_ccache() {
  export CCACHE_DIR="${CCACHE_DIR:-$CACHE/ccache}" CCACHE_BASEDIR="${CCACHE_BASEDIR:-$ROOT}" CCACHE_NOHASHDIR=1
  export CCACHE_SLOPPINESS="${CCACHE_SLOPPINESS:-pch_defines,time_macros}" CCACHE_MAXSIZE="${CCACHE_MAXSIZE:-5G}"
}

# find_cmake: sets CMAKE (and CTEST beside it) to the first cmake that is new enough.
find_cmake() {
  local want candidate found=""
  want="$(lock_lines tool | awk '$1 == "cmake" { print $2 }')"
  for candidate in "${CMAKE:-}" "$(command -v cmake || true)" /usr/bin/cmake /usr/local/bin/cmake; do
    [ -n "$candidate" ] && [ -x "$candidate" ] || continue
    found="$("$candidate" --version 2>/dev/null | sed -n 's/^cmake version \([0-9.]*\).*/\1/p')"
    [ -n "$found" ] && version_at_least "$found" "$want" || continue
    CMAKE="$candidate"
    CTEST="$(dirname "$candidate")/ctest"
    return 0
  done
  die "cmake $want or newer is needed${found:+, this machine has $found}" \
    "install it from your distribution, or with 'pip install cmake', and run again"
}
