"""The paper's tables and figures, one definition each: ``python -m experiments list``."""
