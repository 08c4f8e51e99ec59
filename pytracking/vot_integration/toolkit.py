"""Checks that the official toolkit is installed in a version that works."""
import importlib
from importlib import metadata

from ltr.errors import MissingPackageError

INSTALL_HINT = "pip install 'rls-tracking[vot]' (or ./install.sh --extras vot in a checkout)"
# 0.8 and 0.9 cannot run supervised experiments; attributee 0.1.10 breaks every command of the toolkit.
SUPPORTED_TOOLKITS = ("0.7.3", "0.7.4")
REPETITIONS_VARIABLE = "PYTRACKING_VOT_REPETITIONS"  # the repetitions that a TraX server is to compute


class ToolkitMissingError(MissingPackageError):
    """The toolkit is missing or its version does not work; the message says how to install the right one."""


def require_trax() -> None:
    """Checks that TraX can be imported; a tracker needs nothing else."""
    _require("trax")


def require_toolkit() -> None:
    """Checks that the toolkit is installed and can run supervised experiments."""
    _require("trax")
    _require("vot")
    version = metadata.version("vot-toolkit")
    if version not in SUPPORTED_TOOLKITS:
        raise ToolkitMissingError(
            f"vot-toolkit {version} is installed, but only {' and '.join(SUPPORTED_TOOLKITS)} can run reset-based "
            f"experiments: {INSTALL_HINT}"
        )


def _require(module: str) -> None:
    try:
        importlib.import_module(module)
    except (ImportError, TypeError, OSError) as error:  # attributee 0.1.10 raises a TypeError
        raise ToolkitMissingError(f"cannot import '{module}' ({error}): {INSTALL_HINT}") from error
