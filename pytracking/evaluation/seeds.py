"""Seeds that depend only on the run and the sequence, so every machine and engine draws the same random numbers."""
import hashlib


def seed_for(run_id: int | None, sequence_name: str) -> int:
    """Returns a 31-bit seed for one sequence of one run; None counts as run 0."""
    digest = hashlib.sha256(f"{run_id or 0}:{sequence_name}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1
