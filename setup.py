"""Thin on purpose: everything stands in pyproject.toml."""
from setuptools import setup

setup()
