# Zig's C++ compiler, for systems that Debian has no cross compiler for. Sourced by toolchains/bootstrap.

# zig_compiler: installs PyPI's `ziglang` into $CACHE/zig-VERSION, with programs named as CMake wants them.
zig_compiler() {
  local name version hash home tool
  read -r name version hash < <(lock_lines zig)
  home="$CACHE/zig-$version"
  [ ! -e "$home/.complete" ] || { say "zig: $home is complete"; return 0; }
  find_python
  say "zig $version: installing $name into $home (100 MB)"
  rm -rf "$home"
  mkdir -p "$home/bin"
  echo "$name==$version --hash=$hash" >"$home/requirements.txt"
  logged pip-zig "$PYTHON" -m pip --disable-pip-version-check --no-input install --no-compile --no-deps \
    --require-hashes --target "$home/python" -r "$home/requirements.txt" ||
    { log_tail pip-zig; die "zig could not be installed" "the log is $CACHE/logs/pip-zig.log"; }
  for tool in cc c++ ar ranlib; do
    # zig keeps the libraries that it builds for a target: beside itself, not in the user's cache.
    printf '#!/bin/sh\nexport ZIG_GLOBAL_CACHE_DIR="%s/cache" ZIG_LOCAL_CACHE_DIR="%s/cache"\nexec "%s/python/ziglang/zig" %s "$@"\n' \
      "$home" "$home" "$home" "$tool" >"$home/bin/$tool"
    chmod +x "$home/bin/$tool"
  done
  touch "$home/.complete"
}
