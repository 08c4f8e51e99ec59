"""ATOM, and its filter learnt by gradient descent."""
