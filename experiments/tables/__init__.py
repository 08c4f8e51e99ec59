"""One module per experiment, each with the constant ``EXPERIMENT``; the module's name is the experiment's name."""
import importlib
import pkgutil

from ltr.errors import UserError
from pytracking.utils.names import unknown_name_message

from ..definition import Experiment


def experiment_names() -> list[str]:
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def get_experiment(name: str) -> Experiment:
    names = experiment_names()
    if name not in names:
        raise UserError(unknown_name_message("experiment", name, names))
    return importlib.import_module(f"{__name__}.{name}").EXPERIMENT
