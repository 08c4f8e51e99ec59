"""Renders all demo sequences in memory and prints the contents of ``digests.json``."""
import hashlib
import json

from tqdm import tqdm

from pytracking.demo.scenarios import SCENARIOS, digested, render_sequence

digests = {}
for scenario in tqdm(SCENARIOS, unit="sequence"):
    digest = hashlib.sha256()
    for frame in render_sequence(scenario):
        digest.update(digested(frame))
    digests[scenario.name] = digest.hexdigest()
print(json.dumps(digests, indent=2))
