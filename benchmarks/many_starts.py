"""Starts a tracker at many frames of half A of the real validation sequences, forwards and backwards.

    python benchmarks/many_starts.py [--tracker rls_dimp] [--network FILE] [--set NAME=VALUE …] [--seeds 1]
        [--sequence Animal4 Biker Diving Skiing]

A run over a whole sequence starts only once, so it says little about the first second. Prints for each sequence the
mean AUC of success, the precision at 0.2 target sizes and the fraction of runs that end without the target.
"""
from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from held_out_videos import add_tracker_options, measures, overrides_of, summary, track
from tqdm import tqdm
from training_validation_table import SEQUENCES, validation_sequences

import pytracking

SHORTEST = 20  # shorter runs are skipped, in frames


def runs_of(truth: np.ndarray, starts: int, length: int) -> list[np.ndarray]:
    """Frame numbers of each run; a run begins at a frame with a target."""
    count = len(truth)
    found = []
    for start in np.linspace(0, count - min(length, count // 2), starts).astype(int):
        forwards = np.arange(start, min(start + length, count))
        for order in (forwards, count - 1 - forwards):
            known = np.flatnonzero(np.isfinite(truth[order]).all(1))
            if len(known) and len(order) - known[0] >= SHORTEST:
                found.append(order[known[0] :])
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sequences", type=Path, default=SEQUENCES, help="folder of <benchmark>/<sequence>")
    parser.add_argument("--sequence", nargs="+", default=["Animal4", "Biker", "Diving", "Skiing"])
    add_tracker_options(parser)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--starts", type=int, default=8, help="starts per direction")
    parser.add_argument("--frames", type=int, default=60, help="frames per run")
    args = parser.parse_args()
    overrides = overrides_of(args)
    handles = [pytracking.load(args.tracker, args.param, seed=seed, **overrides) for seed in range(args.seeds)]
    sequences = {each.name: each for each in validation_sequences(args.sequences, "validation_a", None)}
    unknown = sorted(set(args.sequence) - set(sequences))
    if unknown:
        parser.error(f"argument --sequence: {', '.join(unknown)}: not in half A, which has {', '.join(sequences)}")
    means = []
    for name in args.sequence:
        truth = np.asarray(sequences[name].ground_truth_rect, float)
        rows = []
        for order in tqdm(runs_of(truth, args.starts, args.frames), desc=name, leave=False):
            frames = [sequences[name].load_frame(t) for t in order]
            rows += [measures(track(handle, frames, truth[order[0]]), truth[order]) for handle in handles]
        means.append(np.mean(rows, axis=0))
        print(f"{name:16s} {len(rows)} runs: {summary(rows)}", flush=True)
    print(f"mean of the sequences: {summary(means)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
