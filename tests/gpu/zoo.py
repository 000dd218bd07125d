"""The zoo on a GPU, as CUDA graphs, next to eager code there; see `tests/cudagraph/zoo.py`.

    python -m tests.gpu.zoo [--fused]

An index out of bounds ends all work on the GPU that a process can do, in eager code too. So a
program after which that is so is left out, and a new process goes on after it. Several processes
share the programs.
"""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

SHARES = 12
MOST_LOST = 25


def one_share(number: int) -> tuple[int, list[str]]:
    """Every so many-th program: how many were wrong, and after which the device had stopped."""
    done, lost, wrong = 0, list[str](), 0
    while len(lost) < MOST_LOST:
        command = [sys.executable, "-m", "tests.cudagraph.zoo", "--device", "cuda", *sys.argv[1:]]
        ended = subprocess.run(
            [*command, "--skip", str(number + done * SHARES), "--every", str(SHARES)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        names = [line[1:] for line in ended.stdout.splitlines() if line.startswith("@")]
        print(*(line[:300] for line in ended.stdout.splitlines() if line[:1] not in "@ "), sep="\n")
        wrong += ended.stdout.count("): ")
        if ended.returncode in (0, 1) and "Traceback" not in ended.stderr:
            break
        if "AcceleratorError" not in ended.stderr or not names:
            print(ended.stderr[-2000:])
            return wrong + 1, lost
        lost.append(names[-1])
        done += len(names)
    return wrong, lost


def main() -> int:
    """Run them all; 1 if one differs."""
    with ThreadPoolExecutor(SHARES) as pool:
        shares = list(pool.map(one_share, range(SHARES)))
    lost = [name for _, names in shares for name in names]
    wrong = sum(count for count, _ in shares)
    print(f"left out, the device has stopped: {', '.join(lost) or 'none'}")
    print(f"{wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
