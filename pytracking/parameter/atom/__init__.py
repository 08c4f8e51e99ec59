"""ATOM, and ATOM with gradient descent."""
