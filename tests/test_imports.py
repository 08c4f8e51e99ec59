"""Who may import whom, as one table. Data flows one way: features, trackers, results, metrics, tables."""
from __future__ import annotations

import ast
import importlib.util
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TRACKER = r"pytracking\.(tracker\.base|features|utils)|ltr\.(engine|models|ops|overlap|checkpoint|weights)|rls_ext"
NOTHING = r"(?!)"  # fits no name; an empty pattern would fit every one
# pytracking's own places for what people import from it: nothing but imports from pytracking.compat.
PLACES = (
    r"pytracking\.(libs|util_scripts|evaluation\.(data|multi_object_wrapper)|analysis\.(extract|playback)_results"
    r"|utils\.(params|loading|plotting|visdom|load_text|convert_vot_anno_to_rect)"
    r"|features\.(net_wrappers|preprocessing|extractor|deep))"
)
# Module (pattern): what of our own it may import besides itself (pattern). The first line that fits counts.
ALLOWED = {
    r"rls_ext": NOTHING,
    r"ltr": r"rls_ext",
    PLACES: r"pytracking\.compat",
    r"pytracking\.compat": r"pytracking|ltr",
    r"pytracking\.(utils|demo)": NOTHING,
    r"pytracking\.features": r"pytracking\.utils",
    r"pytracking\.tracker\.rls_dimp": TRACKER + r"|pytracking\.tracker\.dimp",
    r"pytracking\.tracker\.atom": TRACKER + r"|pytracking\.tracker\.dimp",
    r"pytracking\.tracker\.rls_atom": TRACKER + r"|pytracking\.tracker\.(atom|dimp|rls_dimp)",
    r"pytracking\.tracker\.rls_rtmdnet": TRACKER + r"|pytracking\.tracker\.rtmdnet",
    r"pytracking\.tracker\.base": NOTHING,
    r"pytracking\.tracker\.\w+": TRACKER,
    r"pytracking\.parameter\.(rls_)?(?P<name>\w+)": r"pytracking\.tracker\.((rls_)?(?P=name)\.params|base)",
    # Trackers, parameters and experiments only by name, through importlib; their contract (base) is known, weights are
    # found for them, and what a network recommends is read. Annotations and the user's settings file have one reader,
    # which training needs as well: it lies in ltr and needs numpy at most.
    r"pytracking\.evaluation": r"pytracking\.(demo|utils|tracker\.base)"
    r"|ltr\.(engine|weights|checkpoint|sequence_files|admin\.environment)",
    r"pytracking\.analysis": r"pytracking\.(evaluation|utils)|ltr\.overlap",
    r"pytracking\.vot_integration": r"pytracking$|pytracking\.(evaluation|analysis|utils|tracker\.base)"
    r"|ltr\.sequence_files",
    r"pytracking\.video": r"pytracking\.(evaluation|analysis|utils)",
    r"pytracking\.web": r"pytracking\.(evaluation|analysis|utils|video)",
    r"pytracking\.(cli|run_\w+|__main__)": r"pytracking$|ltr\.(engine|weights|download|checkpoint)"
    r"|pytracking\.(evaluation|analysis|features|utils|vot_integration|video|web|cli|run_\w+)",
    r"pytracking\.experiments": NOTHING,  # where a checkout finds the folder of that name
    # The probe asks what a learner knows, so it looks inside the one tracker that has exchangeable learners.
    r"experiments\.memory_probe": r"pytracking\.(evaluation|tracker\.dimp)|ltr\.models",
    r"experiments\.__main__": r"experiments|pytracking\.(cli|evaluation|analysis|utils)",
    r"experiments": r"pytracking\.(evaluation|analysis|vot_integration|utils)",
}
# One class of errors and one way to write a file, for all packages but rls_ext; they need nothing but Python.
EVERYBODY = r"ltr\.(errors|files)"
FORBIDDEN_AT_TOP = {"torchvision"}


def imports(file: Path, top_level_only: bool = False) -> set[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    nodes = tree.body if top_level_only else list(ast.walk(tree))
    found = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return found | {_absolute(node, file) for node in nodes if isinstance(node, ast.ImportFrom)}


def _absolute(node: ast.ImportFrom, file: Path) -> str:
    """The module that ``from MODULE import ...`` means, also where MODULE begins with dots."""
    package = file.relative_to(ROOT).parts[: -node.level] if node.level else ()
    return ".".join([*package, *([node.module] if node.module else [])])


def modules() -> list[str]:
    packages = ("rls_ext", "ltr", "pytracking", "experiments")
    files = [file for package in packages for file in (ROOT / package).rglob("*.py")]
    return sorted(".".join(file.relative_to(ROOT).with_suffix("").parts) for file in files)


def test_every_module_has_a_rule():
    free = {"pytracking.__init__", "pytracking.tracker.__init__", "pytracking.parameter.__init__"}
    without = {module for module in modules() if not any(re.match(pattern + r"\b", module) for pattern in ALLOWED)}
    assert without <= free


@pytest.mark.parametrize("rule", ALLOWED)
def test_imports_go_one_way(rule):
    wrong = []
    for module in modules():
        first = next((pattern for pattern in ALLOWED if re.match(pattern + r"\b", module)), None)
        if first != rule:
            continue
        own = re.match(rule + r"\b", module)
        allowed = ALLOWED[rule].replace("(?P=name)", own.groupdict().get("name", ""))
        allowed += "" if rule == "rls_ext" else f"|{EVERYBODY}"
        for name in imports(ROOT / (module.replace(".", "/") + ".py")):
            ours = re.match(r"(rls_ext|ltr|pytracking|experiments)\b", name)
            if ours and not re.match(re.escape(own.group()) + r"\b", name) and not re.match(rf"({allowed})\b", name):
                wrong.append(f"{module} imports {name}")
    assert wrong == []


def test_pytrackings_places_only_import():
    """Other modules cannot import pytracking.compat: no rule above allows it."""
    places = [module for module in modules() if re.match(PLACES + r"\b", module)]
    assert len(places) > 10
    for module in places:
        tree = ast.parse((ROOT / (module.replace(".", "/") + ".py")).read_text(encoding="utf-8"))
        assert all(isinstance(node, (ast.Expr, ast.ImportFrom)) for node in tree.body), module


LIGHT = ["ltr", "ltr.errors", "ltr.overlap", "ltr.admin", "ltr.sequence_files", "ltr.admin.environment"]


@pytest.mark.parametrize("module", LIGHT)
def test_what_evaluation_shares_with_training_is_light(module):
    """Reading results and settings must not load torch."""
    spec = importlib.util.find_spec(module)
    names = {name.split(".")[0] for name in imports(Path(spec.origin)) - {*LIGHT}}
    assert names <= {*sys.stdlib_module_names, "numpy", "tomli"}


def test_optional_packages_are_not_imported_at_the_top():
    for module in modules():
        names = imports(ROOT / (module.replace(".", "/") + ".py"), top_level_only=True)
        assert not {name.split(".")[0] for name in names} & FORBIDDEN_AT_TOP, module
