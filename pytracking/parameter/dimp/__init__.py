"""DiMP and the baselines of the paper: one small file per variant."""
