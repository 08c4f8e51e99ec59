"""Networks. Parameter names follow the published checkpoints, so that those load name by name."""
