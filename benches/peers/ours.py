"""The Rust program, asked over its standard input. benches/benches/peers/main.rs lists the requests."""

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).resolve().parent.parent / "peers-serve"


class Ours:
    def __init__(self, on_cpu=False):
        program = os.environ.get("WARPSMITH_PEERS", str(PROGRAM))
        if not os.access(program, os.X_OK):
            sys.exit(f"error: no program {program}; run this from a bundle, or set WARPSMITH_PEERS")
        command = [program, "--serve"] + (["--on", "cpu"] if on_cpu else [])
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.device = self.process.stdout.readline().strip()
        if not self.device.startswith("ready"):
            sys.exit(f"error: {program} said `{self.device}`")

    def ask(self, request):
        """The words of the answer; RuntimeError if it is an error."""
        self.process.stdin.write(request + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split()
        if not answer:
            raise RuntimeError(f"the Rust program ended at `{request}`, with {self.process.wait()}")
        if answer[0] != "ok":
            raise RuntimeError(" ".join(answer))
        return answer[1:]


class Slot:
    """Something that the Rust program has prepared."""

    def __init__(self, ours, name, request, bound):
        self.ours, self.name = ours, name.replace(" ", "_")
        error, *note = ours.ask(f"prepare {self.name} {request}")
        self.error, self.note = float(error), " ".join(note)
        if not self.error <= bound:
            raise ValueError(f"WRONG: an error of {error}, more than {bound}")

    def time(self, mode):
        return float(self.ours.ask(f"time {self.name} {mode}")[0]) * 1e-3
