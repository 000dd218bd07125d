"""The zoo on a GPU, as CUDA graphs, next to eager code there; see `tests/cudagraph/zoo.py`.

    python -m tests.gpu.zoo

An index out of bounds ends all work on the GPU that a process can do, in eager code too. So a
program after which that is so is left out, and a new process goes on after it.
"""

from __future__ import annotations

import subprocess
import sys

MOST_LOST = 25


def main() -> int:
    """Run them all; 1 if one differs."""
    done, lost, wrong = 0, [], 0
    while len(lost) < MOST_LOST:
        command = [sys.executable, "-m", "tests.cudagraph.zoo", "--device", "cuda"]
        ended = subprocess.run(
            [*command, "--skip", str(done)], capture_output=True, text=True, check=False
        )
        names = [line[1:] for line in ended.stdout.splitlines() if line.startswith("@")]
        print(*(line[:300] for line in ended.stdout.splitlines() if line[:1] not in "@ "), sep="\n")
        wrong += ended.stdout.count("): ")
        if "AcceleratorError" not in ended.stderr or not names:
            break
        lost.append(names[-1])
        done += len(names)
    print(f"left out, the device has stopped: {', '.join(lost) or 'none'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
