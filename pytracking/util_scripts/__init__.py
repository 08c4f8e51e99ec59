"""pytracking's place for scripts that pack results."""
