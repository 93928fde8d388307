# XNNPACK and its four helpers: fetch, check, build into one prefix. Sourced by toolchains/bootstrap.

# archive_folders: folders that may hold the archives, one a line.
archive_folders() {
  local folder
  for folder in "${ARCHIVES:-}" "$ROOT/../shared/third_party" "$CACHE/downloads"; do
    [ -z "$folder" ] || [ ! -d "$folder" ] || echo "$folder"
  done
}

# from_archive NAME ARCHIVE SHA256 OUT: unpacks a local archive whose hash is the pinned one.
from_archive() {
  local file folder
  while read -r folder; do
    file="$folder/$2"
    [ -e "$file" ] || continue
    if [ "$(sha256_of "$file")" != "$3" ]; then
      warn "$file has not the pinned SHA256: not used"
      continue
    fi
    unpack "$file" "$4" && say "  $1: from $file" && return 0
  done < <(archive_folders)
  return 1
}

# unpack FILE OUT: with or without a top folder in the archive.
unpack() {
  local tmp="$2.unpack"
  rm -rf "$tmp" && mkdir -p "$tmp"
  tar -xf "$1" -C "$tmp" || return 1
  rm -rf "$2"
  if [ -e "$tmp/CMakeLists.txt" ]; then
    mv "$tmp" "$2"
  else
    mv "$tmp"/* "$2" && rm -rf "$tmp"
  fi
}

# git_commit COMMIT URL OUT: a shallow fetch of one commit by its id, which is its hash.
git_commit() {
  local git=(timeout 300 git -c http.lowSpeedLimit=1000 -c http.lowSpeedTime=20 -c advice.detachedHead=false -C "$3")
  export GIT_TERMINAL_PROMPT=0
  "${git[@]}" init -q && "${git[@]}" fetch -q --depth 1 "$2" "$1" && "${git[@]}" checkout -q FETCH_HEAD &&
    [ "$("${git[@]}" rev-parse HEAD)" = "$1" ]
}

# from_upstream NAME COMMIT URL OUT. After one failure upstream is not asked again in this run.
from_upstream() {
  [ -z "${UPSTREAM_DOWN:-}" ] && have git || return 1
  rm -rf "$4" && mkdir -p "$4"
  if logged "fetch-$1" git_commit "$2" "$3" "$4"; then
    say "  $1: from $3 at ${2:0:7}"
    return 0
  fi
  say "  upstream cannot be reached, trying Debian's source packages"
  UPSTREAM_DOWN=1
  return 1
}

# from_debian NAME ARCHIVE SHA256 OUT: Debian's pool, at the mirror that this machine's own apt uses.
from_debian() {
  local helper=/usr/lib/apt/apt-helper mirror prefix
  [ -x "$helper" ] || return 1
  mirror="$(apt-get indextargets --format '$(ORIGIN) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
    awk '$1 == "Debian" && $2 !~ /security/ { print $2; exit }')"
  [ -n "$mirror" ] || return 1
  mkdir -p "$CACHE/downloads"
  logged "download-$1" "$helper" -o Acquire::Retries=2 download-file \
    "${mirror%/}/pool/main/${1:0:1}/$1/${2//\~/%7e}" "$CACHE/downloads/$2.part" "SHA256:$3" || return 1
  [ "$(sha256_of "$CACHE/downloads/$2.part")" = "$3" ] || return 1
  mv "$CACHE/downloads/$2.part" "$CACHE/downloads/$2"
  from_archive "$1" "$2" "$3" "$4"
}

# fetch_source NAME COMMIT URL ARCHIVE SHA256 OUT
fetch_source() {
  [ ! -e "$6/.fetched" ] || return 0
  mkdir -p "$(dirname "$6")"
  from_archive "$1" "$4" "$5" "$6" || from_upstream "$1" "$2" "$3" "$6" || from_debian "$1" "$4" "$5" "$6" ||
    die "the source of $1 cannot be had: tried the archive folders, $3 and Debian's pool" \
      "connect the machine, or put $4 into a folder and name it: --archives DIR, or LAZYRT_ARCHIVES=DIR" \
      "(SHA256 $5)"
  touch "$6/.fetched"
}

# xnnpack_sources: fetches all five into $CACHE/src; sets SOURCE_DIRS, the options that tell CMake where they are.
xnnpack_sources() {
  local name commit url archive hash suite dir
  SOURCE_DIRS=()
  while read -r name commit url archive hash suite; do
    dir="$CACHE/src/$name-${commit:0:7}"
    fetch_source "$name" "$commit" "$url" "$archive" "$hash" "$dir" </dev/null
    if [ "$name" = xnnpack ]; then XNNPACK_SOURCE="$dir"; else SOURCE_DIRS+=("-D${name^^}_SOURCE_DIR=$dir"); fi
  done < <(lock_lines source)
}

# Static, position independent, hidden symbols (LibTorch exports its own pthreadpool), no debug information. Only the
# micro-kernels in use; none that g++ 12 cannot compile (AMX, AVX512-FP16, AVX-VNNI-INT8, SME).
# Without scheduling before register allocation g++ keeps one of the ten sums of XNNPACK's 5x16 kernels on the stack, and
# matrix products run at half speed.
xnnpack_options() {
  local name optimize="-O2 -g0 -DNDEBUG"
  case "$(xnnpack_prefix)" in *-gcc*) optimize+=" -fschedule-insns -fsched-pressure" ;; esac
  printf '%s\n' -DCMAKE_BUILD_TYPE=Release "-DCMAKE_C_FLAGS_RELEASE=$optimize" "-DCMAKE_CXX_FLAGS_RELEASE=$optimize" \
    -DCMAKE_POLICY_VERSION_MINIMUM=3.5 -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_INSTALL_LIBDIR=lib \
    -DCMAKE_C_VISIBILITY_PRESET=hidden -DCMAKE_CXX_VISIBILITY_PRESET=hidden -DCMAKE_VISIBILITY_INLINES_HIDDEN=ON
  for name in XNNPACK CPUINFO PTHREADPOOL; do echo "-D${name}_LIBRARY_TYPE=static"; done
  for name in XNNPACK PTHREADPOOL FXDIV FP16 CPUINFO; do
    printf '%s\n' "-D${name}_BUILD_TESTS=OFF" "-D${name}_BUILD_BENCHMARKS=OFF"
  done
  for name in TOOLS UNIT_TESTS MOCK_TESTS PKG_CONFIG; do echo "-DCPUINFO_BUILD_$name=OFF"; done
  for name in BUILD_ALL_MICROKERNELS ENABLE_KLEIDIAI ENABLE_AVX512AMX ENABLE_AVX512FP16 ENABLE_AVXVNNIINT8 \
    ENABLE_ARM_SME ENABLE_ARM_SME2; do
    echo "-DXNNPACK_$name=OFF"
  done
  # XNNPACK's build runs two Python scripts; this stands in for both, so that the runtime needs no Python.
  echo "-DPython_EXECUTABLE=$ROOT/toolchains/xnnpack_python"
}

# xnnpack_prefix [FLAVOUR]: where the built libraries are kept; FindXNNPACK.cmake looks for the same name.
xnnpack_prefix() {
  local cxx compiler=gcc commit system
  cxx="$(cxx_compiler)"
  case "$("$cxx" --version | head -n 1)" in *clang*) compiler=clang ;; esac
  commit="$(lock_lines source | awk '$1 == "xnnpack" { print substr($2, 1, 7) }')"
  system="${TARGET:-$(uname -s | tr '[:upper:]' '[:lower:]')-$(uname -m)}"
  echo "$CACHE/xnnpack-$commit-$system${1:+-$1}-$compiler$("$cxx" -dumpversion)"
}

# toolchain_value NAME: what toolchains/cross/$TARGET.cmake sets.
toolchain_value() { sed -n "s/^set($1 \(.*\))\$/\1/p" "$ROOT/toolchains/cross/$TARGET.cmake"; }

# cxx_compiler: of TARGET if that is set, a file of toolchains/cross, else of this machine.
cxx_compiler() { if [ -n "${TARGET:-}" ]; then echo "$(toolchain_value triplet)-g++"; else echo "${CXX:-g++}"; fi; }

# recipe_of TEXT...: what a prefix was made by; another recipe means another build.
recipe_of() {
  cat "$ROOT/toolchains/xnnpack_python" <(grep '^source ' "$LOCK") <(xnnpack_options | grep -v Python_) <(echo "$*") \
    <([ -z "${TARGET:-}" ] || grep '^set' "$ROOT/toolchains/cross/$TARGET.cmake") | sha256sum | cut -c 1-16
}

is_complete() { [ "$(cat "$1/.recipe" 2>/dev/null)" = "$2" ] && say "XNNPACK: $1 is complete"; }

# cmake_install NAME SOURCE PREFIX FLAGS: configures, builds and installs one source tree into PREFIX.
cmake_install() {
  local build="$CACHE/build-$1" cxx options
  mapfile -t options < <(xnnpack_options)
  cxx="$(cxx_compiler)"
  if [ -n "${TARGET:-}" ]; then
    options+=("-DCMAKE_TOOLCHAIN_FILE=$ROOT/toolchains/cross/$TARGET.cmake")
  else
    options+=("-DCMAKE_CXX_COMPILER=$cxx" "-DCMAKE_C_COMPILER=$(c_compiler "$cxx")")
  fi
  # The compiler cache sees paths relative to the cache folder: sources and build tree are both in it.
  local -x CCACHE_BASEDIR="$CACHE"
  logged "$1-configure" "$CMAKE" -S "$2" -B "$build" -G Ninja "${options[@]}" "${SOURCE_DIRS[@]}" \
    "-DCMAKE_INSTALL_PREFIX=$3" ${4:+"-DCMAKE_C_FLAGS=$4" "-DCMAKE_CXX_FLAGS=$4"} -DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache ||
    { log_tail "$1-configure"; die "$1 cannot be configured" "the log is $CACHE/logs/$1-configure.log"; }
  logged "$1-build" "$CMAKE" --build "$build" --target install -j "$JOBS" ||
    { log_tail "$1-build"; die "$1 cannot be built" "the log is $CACHE/logs/$1-build.log; a new run goes on from here"; }
  rm -rf "$build"
}

# xnnpack_libraries: builds them, for TARGET if that is set, if the prefix is not there or was built by another recipe.
# About 4 minutes on 2 cores.
xnnpack_libraries() {
  local prefix recipe
  if [ -n "${XNNPACK_ROOT:-}" ] && [ -z "${TARGET:-}" ]; then
    say "XNNPACK: the one in XNNPACK_ROOT=$XNNPACK_ROOT"
    return 0
  fi
  prefix="$(xnnpack_prefix)" recipe="$(recipe_of plain)"
  ! is_complete "$prefix" "$recipe" || return 0
  say "XNNPACK, cpuinfo, pthreadpool, FXdiv, FP16: fetch and build into $prefix (about 4 minutes on 2 cores)"
  xnnpack_sources
  rm -rf "$prefix.tmp"
  cmake_install "xnnpack${TARGET:+-$TARGET}" "$XNNPACK_SOURCE" "$prefix.tmp" ""
  finish_prefix "$prefix" "$recipe"
}

# tsan_libraries: the same with a pthreadpool that ThreadSanitizer understands: its atomics are what orders our kernels.
tsan_libraries() {
  local plain prefix recipe
  plain="${XNNPACK_ROOT:-$(xnnpack_prefix)}" prefix="$(xnnpack_prefix tsan)" recipe="$(recipe_of tsan)"
  ! is_complete "$prefix" "$recipe" || return 0
  say "pthreadpool for ThreadSanitizer: build into $prefix"
  xnnpack_sources
  rm -rf "$prefix.tmp"
  cp -R "$plain" "$prefix.tmp"
  cmake_install pthreadpool-tsan "$CACHE/src/pthreadpool-$(lock_lines source | awk '$1 == "pthreadpool" { print substr($2, 1, 7) }')" \
    "$prefix.tmp" -fsanitize=thread
  finish_prefix "$prefix" "$recipe"
}

c_compiler() { echo "${CC:-$(echo "$1" | sed -e 's/clang++/clang/' -e 's/g++/gcc/')}"; }

# finish_prefix PREFIX RECIPE: licences beside the libraries, then the rename that makes it count.
finish_prefix() {
  local dir name
  rm -rf "$1.tmp/share/cpuinfo"
  mkdir -p "$1.tmp/share/licenses"
  for dir in "$CACHE"/src/*; do
    name="$(basename "$dir")"
    cp "$dir/LICENSE" "$1.tmp/share/licenses/${name%-*}.txt"
  done
  echo "$2" >"$1.tmp/.recipe"
  rm -rf "$1"
  mv "$1.tmp" "$1"
}
