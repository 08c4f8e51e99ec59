"""The public names are a promise."""
import ast
from pathlib import Path

import rls_ext

NAMES = {
    "InverseCorrelation", "RLSPreconditioner", "RLSRegressor", "virtual_input_conv", "virtual_input_linear",
    "RLSError", "ShapeError", "HyperparameterError", "NonFiniteInputError", "PositiveDefinitenessError",
    "PositiveDefinitenessWarning", "ForgettingOverflowError", "StateMismatchError", "UnsupportedModuleError",
    "MissingGradientError", "NormalEquations", "conjugate_gradients",
}
MEMBERS = {
    "InverseCorrelation": {
        "update", "precondition", "gain", "dense", "reset", "steps", "rank", "nbytes", "state_dict", "load_state_dict",
        "to", "dtype", "device", "current_form",
    },
    "NormalEquations": {
        "update", "product", "solve", "solve_exactly", "dense", "targets", "reset", "nbytes", "state_dict",
        "load_state_dict", "to", "dtype", "device",
    },
    "RLSRegressor": {"update", "predict", "reset", "state_dict", "load_state_dict"},
    "RLSPreconditioner": {
        "step", "enabled", "clear", "reset", "remove", "inverses", "state_dict", "load_state_dict",
    },
}


def test_names_are_frozen():
    assert set(rls_ext.__all__) == NAMES
    assert all(hasattr(rls_ext, name) for name in NAMES)
    matrix = rls_ext.InverseCorrelation(2, delta=1.0)
    for name, members in MEMBERS.items():
        owner = matrix if name == "InverseCorrelation" else getattr(rls_ext, name)
        assert members <= set(dir(owner)), name


def test_every_error_is_an_rls_error():
    errors = [getattr(rls_ext, name) for name in NAMES if name.endswith("Error")]
    assert all(issubclass(error, rls_ext.RLSError) for error in errors)


def test_the_package_imports_torch_only():
    allowed = {"torch", "math", "warnings", "threading", "collections", "__future__"}
    for file in Path(rls_ext.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                assert {alias.name.split(".")[0] for alias in node.names} <= allowed, file.name
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                assert node.module.split(".")[0] in allowed, file.name
