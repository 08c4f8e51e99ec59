"""Complete tracking networks: a backbone with the heads that a tracker needs."""
