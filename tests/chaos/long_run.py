"""The figures of a long run, as a page."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.chaos.scene import TEXTS_A_KILL_MAY_COST, Trial


@dataclass
class LongRun:
    """Counts trials and kills, by kind of trial and by what was about to be written."""

    wanted: int
    seed: int
    kills: int = 0
    repeated: int = 0
    most_repeated: int = 0
    began: float = field(default_factory=time.monotonic)
    trials: Counter[str] = field(default_factory=Counter)
    places: Counter[str] = field(default_factory=Counter)

    def add(self, trial: Trial, kind: str, *, repeated: int) -> None:
        self.trials[kind] += 1
        self.kills += trial.kills
        self.repeated += repeated
        self.most_repeated = max(self.most_repeated, repeated)
        self.places.update(map(_place, trial.killed_at))
        print(f"{self.kills} kills, {kind}, seed {trial.seed}, {repeated} texts again, {trial.killed_at}", flush=True)

    def write(self, path: str | None) -> None:
        """Write the page, where one is wanted."""
        if path is None:
            return
        share = self.repeated / max(self.kills, 1)
        lines = [
            "# Killed builds: the last long run",
            "",
            "Made by `make chaos` (`tests/chaos`). Every base ended with the manifests, objects, index counts and",
            "search results of an undisturbed build.",
            "",
            "| | |",
            "|---|---|",
            f"| processes killed | {self.kills} |",
            *(f"| trials: {kind} | {number} |" for kind, number in sorted(self.trials.items())),
            f"| seed | {self.seed} |",
            f"| texts sent to the model again | {self.repeated}, {share:.2f} a kill |",
            f"| most in one trial (up to 8 kills) | {self.most_repeated} |",
            f"| allowed a kill | {TEXTS_A_KILL_MAY_COST} |",
            f"| minutes | {(time.monotonic() - self.began) / 60:.0f} |",
            "",
            "What the killed processes were writing last:",
            "",
            "| write | kills |",
            "|---|---|",
            *(f"| {place} | {number} |" for place, number in sorted(self.places.items())),
            "",
        ]
        Path(path).write_text("\n".join(lines), encoding="utf-8")


def _place(line: str) -> str:
    """`17 put knowledge_bases/chaos/objects/ab/...` to `put objects`; a probe's name is its own."""
    words = line.split()
    if not words[0].isdigit():
        return line
    parts = words[2].split("/")
    place = parts[2] if len(parts) > 2 else words[2]
    return f"{words[1]} {'probe' if place.startswith('probe-') else place}"
