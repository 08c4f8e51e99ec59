"""RT-MDNet and simpleRT-MDNet: scores random boxes with a network whose last layers learn online."""
