"""What pyproject.toml cannot say: the folder ``experiments`` is installed as ``pytracking.experiments``."""
from setuptools import find_packages, setup

EXPERIMENTS = ["pytracking.experiments"] + [f"pytracking.experiments.{name}" for name in find_packages("experiments")]

setup(
    packages=sorted({*find_packages(include=["pytracking*", "ltr*", "rls_ext*"]), *EXPERIMENTS}),
    package_dir={"pytracking.experiments": "experiments"},
)
