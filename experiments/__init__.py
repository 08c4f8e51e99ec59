"""The paper's tables and figures, one readable definition each: ``python -m experiments list``."""
