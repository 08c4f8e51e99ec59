"""One module an experiment, each with the constant ``EXPERIMENT``; the module's name is the experiment's name."""
from __future__ import annotations

import difflib
import importlib
import pkgutil

from ltr.errors import UserError

from ..definition import Experiment


def experiment_names() -> list[str]:
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def get_experiment(name: str) -> Experiment:
    names = experiment_names()
    if name not in names:
        near = difflib.get_close_matches(name, names, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise UserError(f"There is no experiment {name!r}.{hint} There are: {', '.join(names)}.")
    return importlib.import_module(f"{__name__}.{name}").EXPERIMENT
