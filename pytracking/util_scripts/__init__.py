"""pytracking's import path for the scripts that pack results."""
