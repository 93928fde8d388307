# System packages through apt, and the checks of what the machine brings. Sourced by toolchains/bootstrap.

# probe_ok PROBE: whether what a package is wanted for is there already, wherever it came from.
probe_ok() {
  case "$1" in
    command:cmake) (find_cmake) >/dev/null 2>&1 ;;
    command:g++) [ -n "${CXX:-}" ] || have g++ ;;
    command:*) have "${1#command:}" ;;
    header:*) [ -e "/usr/include/${1#header:}" ] || [ -e "/usr/local/include/${1#header:}" ] ;;
    python:venv) (find_python) >/dev/null 2>&1 ;;
    python:headers) (find_python && python_headers) >/dev/null 2>&1 ;;
    *) return 1 ;;
  esac
}

is_installed() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

# missing_packages GROUP...: names of the packages of these groups that are not there.
missing_packages() {
  local group package version probe
  while read -r group package version probe; do
    [[ " $* " == *" $group "* ]] || continue
    probe_ok "$probe" || is_installed "$package" || echo "$package"
  done < <(lock_lines apt)
}

# as_root COMMAND...: directly, or through sudo that asks nothing (with CI set) or asks at the terminal.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif [ -n "${CI:-}" ]; then
    sudo -n "$@"
  else
    sudo "$@"
  fi
}

install_packages() {
  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 -o Acquire::Retries=2)
  # A source that fails (a vendor's list, say) must not stop us: the install below decides.
  logged apt-update as_root "${apt[@]}" update || warn "apt-get update had errors (going on): see $CACHE/logs/apt-update.log"
  logged apt-install as_root "${apt[@]}" install --no-install-recommends "$@" && return 0
  log_tail apt-install
  if grep -qiE 'temporary failure|could not (resolve|connect)|connection (failed|timed out|refused)|unable to connect' \
    "$CACHE/logs/apt-install.log" "$CACHE/logs/apt-update.log"; then
    die "no network for apt: these packages are missing: $*" \
      "connect the machine, or set apt's proxy (Acquire::http::Proxy), and run again: what is done already is kept"
  fi
  die "apt could not install: $*" "the log is $CACHE/logs/apt-install.log; put it right and run again"
}

# system_packages GROUP...: installs what is missing of these groups.
system_packages() {
  local missing
  missing="$(missing_packages "$@" | paste -s -d ' ')"
  if [ -z "$missing" ]; then
    say "system packages ($*): all there"
  else
    say "system packages ($*): missing $missing"
    if [ -n "${LAZYRT_NO_APT:-}" ] || ! have apt-get; then
      die "missing on this machine: $missing (Debian's package names)" \
        "there is no apt to install them with (or LAZYRT_NO_APT is set): install what they stand for and run again"
    elif [ "$(id -u)" -ne 0 ] && ! have sudo; then
      die "missing: $missing, and this is neither root nor a user with sudo" \
        "let an administrator run: apt-get install $missing"
    fi
    # shellcheck disable=SC2086
    install_packages $missing
  fi
  find_cmake
  check_compiler
}

# check_compiler: builds and runs ten bytes of C++20, so that a broken compiler is named before an hour of building.
check_compiler() {
  local cxx="${CXX:-g++}" dir want version
  have "$cxx" || die "no C++ compiler: '$cxx' is not on the PATH" "install g++ (Debian: apt-get install g++) or set CXX"
  want="$(lock_lines tool | awk '$1 == "g++" { print $2 }')"
  version="$("$cxx" -dumpversion)"
  case "$("$cxx" --version | head -n 1)" in
    *clang*) ;;
    *) version_at_least "$version" "$want" || die "$cxx is version $version; $want or newer is needed" \
      "install a newer g++ or set CXX" ;;
  esac
  dir="$(mktemp -d)"
  printf '#include <span>\nint main() { int x[1] = {0}; return std::span<int>(x)[0]; }\n' >"$dir/t.cpp"
  "$cxx" -std=c++20 "$dir/t.cpp" -o "$dir/t" >"$dir/log" 2>&1 && "$dir/t" ||
    die "the C++ compiler '$cxx' cannot build a C++20 program" "$(head -n 5 "$dir/log")" "install g++ 12 or newer, or set CXX"
  rm -rf "$dir"
}
