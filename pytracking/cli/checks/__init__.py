"""What ``pytracking doctor`` tries out: each check does what a command will do."""
