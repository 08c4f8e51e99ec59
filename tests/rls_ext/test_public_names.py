"""The public names are a promise."""
import ast
from pathlib import Path

import torch

import rls_ext

NAMES = {
    "InverseCorrelation", "RLSPreconditioner", "RLSRegressor", "virtual_input_conv", "virtual_input_linear",
    "RLSError", "ShapeError", "HyperparameterError", "NonFiniteInputError", "PositiveDefinitenessError",
    "PositiveDefinitenessWarning", "ForgettingOverflowError", "StateMismatchError", "UnsupportedModuleError",
    "MissingGradientError", "NormalEquations", "PFactors", "conjugate_gradients",
}
MEMBERS = {  # of an object, all of them: whoever adds or removes one changes the promise, and this list
    "InverseCorrelation": {
        "update", "precondition", "gain", "dense", "reset", "to", "state_dict", "load_state_dict",
        "dim", "delta", "beta", "form", "dtype", "device", "on_loss", "rank_tol", "memory_budget", "when_full",
        "current_form", "steps", "rank", "max_rank", "nbytes", "row_cost", "error_bound", "truncations",
        "factors", "only_appends", "snapshot",
    },
    "NormalEquations": {
        "update", "update_with_moment", "product", "solve", "solve_exactly", "dense", "targets", "reset", "to",
        "state_dict", "load_state_dict",
        "dim", "delta", "beta", "form", "dtype", "device", "outputs", "steps", "weight", "nbytes", "error_bound",
    },
    "RLSRegressor": {"update", "predict", "reset", "state_dict", "load_state_dict", "inverse", "weight"},
    "RLSPreconditioner": {
        "step", "enabled", "clear", "reset", "remove", "inverses", "state_dict", "load_state_dict",
    },
}


def test_names_are_frozen():
    assert set(rls_ext.__all__) == NAMES
    assert all(hasattr(rls_ext, name) for name in NAMES)
    made = {
        "InverseCorrelation": rls_ext.InverseCorrelation(2, delta=1.0),
        "NormalEquations": rls_ext.NormalEquations(2, delta=1.0),
        "RLSRegressor": rls_ext.RLSRegressor(2, 1, 1.0),
        "RLSPreconditioner": rls_ext.RLSPreconditioner([torch.nn.Linear(2, 1)], delta=1.0),
    }
    public = {name: {member for member in dir(each) if not member.startswith("_")} for name, each in made.items()}
    assert public == MEMBERS


def test_every_error_is_an_rls_error():
    errors = [getattr(rls_ext, name) for name in NAMES if name.endswith("Error")]
    assert all(issubclass(error, rls_ext.RLSError) for error in errors)


def test_the_package_imports_torch_only():
    allowed = {"torch", "copy", "dataclasses", "math", "warnings", "threading", "typing", "collections", "__future__"}
    for file in Path(rls_ext.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                assert {alias.name.split(".")[0] for alias in node.names} <= allowed, file.name
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                assert node.module.split(".")[0] in allowed, file.name
