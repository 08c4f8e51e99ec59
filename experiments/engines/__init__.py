"""What runs an experiment's tasks: the processes of this machine, or a Ray cluster."""
