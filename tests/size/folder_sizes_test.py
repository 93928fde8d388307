"""folder_sizes.py fails where a folder outgrows its budget by one byte, or is in one of map and budget only. MAP BUDGET."""
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from folder_sizes import folder_sizes  # noqa: E402

TOOL = str(Path(__file__).parent / "folder_sizes.py")
MAP = sys.argv[1]


def outcome(limits):
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("".join(f"{folder} {limit}\n" for folder, limit in limits.items()))
        file.flush()
        done = subprocess.run([sys.executable, "-B", TOOL, MAP, "--budget", file.name], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout


sizes = folder_sizes(MAP)
assert sizes["runtime/exec"] > 10000 and sizes["runtime/bundle"] > 10000, sizes
assert outcome(sizes)[0] == 0, outcome(sizes)
code, text = outcome({**sizes, "runtime/exec": sizes["runtime/exec"] - 1})
assert code == 1 and "runtime/exec: " in text, text
code, text = outcome({folder: size for folder, size in sizes.items() if folder != "runtime/bundle"})
assert code == 1 and "runtime/bundle has no line" in text, text
code, text = outcome({**sizes, "runtime/gone": 1})
assert code == 1 and "runtime/gone" in text, text
