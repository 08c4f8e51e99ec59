"""What is said where the toolkit is missing, of the wrong version, or hidden."""
import importlib
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import pytracking
from pytracking.vot_integration.toolkit import ToolkitMissingError, require_toolkit


def test_a_missing_toolkit_names_the_extra(monkeypatch):
    def absent(name):
        raise ModuleNotFoundError(f"No module named '{name}'")

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(ToolkitMissingError, match=r"rls-tracking\[vot\]"):
        require_toolkit()


def test_a_toolkit_that_cannot_run_resets_is_refused(monkeypatch):
    monkeypatch.setattr(metadata, "version", lambda name: "0.9.0")
    with pytest.raises(ToolkitMissingError, match="0.9.0.*0.7.4"):
        require_toolkit()


def test_our_scripts_find_the_toolkit_under_its_name():
    """A script in pytracking/ puts that folder first on the search path: nothing there may be called `vot`."""
    folder = Path(pytracking.__file__).parent
    code = f"import sys; sys.path.insert(0, {str(folder)!r}); import vot; print(vot.__file__)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=folder.parent)
    assert not Path(shown.stdout.strip()).is_relative_to(folder)
