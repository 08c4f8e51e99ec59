"""Networks. Parameter names follow the published checkpoints, which therefore load by name."""
