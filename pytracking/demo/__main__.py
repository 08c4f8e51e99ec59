"""Renders all demo sequences in memory and prints what belongs into ``digests.json``."""
import json

from tqdm import tqdm

from pytracking.demo.digest import Digest
from pytracking.demo.scenarios import SCENARIOS, render_sequence

digests = {}
for scenario in tqdm(SCENARIOS, unit="sequence"):
    digest = Digest()
    for frame in render_sequence(scenario):
        digest.add(frame)
    digests[scenario.name] = digest.hexdigest()
print(json.dumps(digests, indent=2))
