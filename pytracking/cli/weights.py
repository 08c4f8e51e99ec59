"""``pytracking weights list | fetch NAME | import FILE | check``: manages network files."""
import argparse
import shutil
import sys
from pathlib import Path

from ltr.checkpoint import CheckpointError, load_network, read_checkpoint
from ltr.download import DownloadError, download
from ltr.errors import UserError
from ltr.weights import KNOWN, ONNX, SUFFIX, SUFFIXES, KnownWeights, bundled_networks, cache_dir, find_weights
from pytracking.evaluation.discovery import load_parameters, parameter_names, tracker_names
from pytracking.evaluation.environment import env_settings
from pytracking.utils.files import replacing, sha256
from pytracking.utils.names import unknown_name_message


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", help="default: list")
    parser.set_defaults(action="list")
    actions.add_parser("list", help="list known networks, and which of them are here")
    fetch = actions.add_parser("fetch", help="download a network")
    fetch.add_argument("name", help="name from the list, e.g. dimp50.pth")
    place = actions.add_parser("import", help="check a file that you downloaded yourself and put it in place")
    place.add_argument("file", type=Path)
    place.add_argument("--name", help="file name to store it under (default: its own)")
    check = actions.add_parser("check", help="read networks, by default all that are here, and say whether they load")
    check.add_argument("names", nargs="*", metavar="NAME")
    for action in (fetch, place):
        action.add_argument("--output", type=Path, metavar="FOLDER", help="default: network_path of the settings")
        action.add_argument("--force", action="store_true", help="replace an existing file")


def run(args: argparse.Namespace) -> int:
    actions = {"list": _list, "fetch": _fetch, "import": _import, "check": _check}
    return actions[args.action](args)


def _folder() -> Path:
    return env_settings().network_path


def _list(_: argparse.Namespace) -> int:
    print(f"networks are looked for in {_folder()}, then {cache_dir()}, then among the bundled ones\n")
    users = users_of_networks()
    for entry in KNOWN.values():
        found = find_weights(entry.name, [_folder()])
        get = f"pytracking weights fetch {entry.name}   (or by hand: {entry.page})" if entry.url else entry.page
        state = f"here: {found}" if found else f"get: {get}"
        _show(entry.name, entry.description, _facts(entry, found), users, state)
    for file in bundled_networks():
        facts = f"{file.stat().st_size / 1e6:.1f} MB; Apache-2.0 (its card: {file.with_suffix('.md')})"
        _show(file.stem, "comes with the package", f"{facts}; sha256 {sha256(file)[:16]}…", users, f"here: {file}")
    unknown = sorted(set(users) - set(KNOWN) - {file.stem for file in bundled_networks()})
    for name in unknown:  # named by users' own parameter files
        found = find_weights(name, [_folder()])
        _show(name, "unknown network", "", users, f"here: {found}" if found else "not here")
    return 0


def _show(name: str, description: str, facts: str, users: dict[str, list[str]], state: str) -> None:
    used_by = users.get(name, [])
    more = f" and {len(used_by) - 3} more" if len(used_by) > 3 else ""
    used = f"used by: {', '.join(used_by[:3])}{more}" if used_by else "used by: training"
    lines = [f"{name}: {description}", *(line for line in (facts, used, state) if line)]
    print("\n    ".join(lines))


def _facts(entry: KnownWeights, found: Path | None) -> str:
    size = found.stat().st_size if found else entry.size
    digest = entry.sha256 or entry.tested
    bytes_text = f"{size / 1e6:.1f} MB" if size else "size not published"
    return f"{bytes_text}; licence: {entry.licence}; " + (f"sha256 {digest[:16]}…" if digest else "hash not published")


def users_of_networks() -> dict[str, list[str]]:
    """Maps every network named by a parameter file to the files that name it."""
    users: dict[str, list[str]] = {}
    for tracker in tracker_names():
        for parameter in parameter_names(tracker):
            params = load_parameters(tracker, parameter)
            for key in ("weights", "fallback_weights", "head_weights"):
                if name := getattr(params, key, None):
                    users.setdefault(name, []).append(f"{tracker}/{parameter}")
    return users


def _fetch(args: argparse.Namespace) -> int:
    names = [args.name, *(args.name + suffix for suffix in SUFFIXES)]
    entry = next((KNOWN[name] for name in names if name in KNOWN), None)
    if entry is None:
        raise UserError(unknown_name_message("network", args.name, list(KNOWN)))
    if entry.url is None:
        raise UserError(f"{entry.name} cannot be downloaded: {entry.page}")
    target = (args.output or _folder()) / entry.name
    if target.exists() and not args.force:
        print(f"{target} is already here; --force downloads it again")
        return _report(target, entry)
    try:
        download(entry.url, target, sha256=entry.sha256, size=entry.size)
    except DownloadError as error:
        where = f"open {entry.page} in a browser (on any machine), download {entry.name}, then run"
        command = f"pytracking weights import PATH/TO/{entry.name}"
        print(f"{entry.name}: {error}\nTo place it by hand: {where}\n  {command}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"\nstopped; `pytracking weights fetch {entry.name}` continues", file=sys.stderr)
        return 130
    return _report(target, entry)


def _import(args: argparse.Namespace) -> int:
    name = args.name or _recognised(args.file) or args.file.name
    suffix = ONNX if args.file.suffix == ONNX else SUFFIX
    target = (args.output or _folder()) / (name if name.endswith((*SUFFIXES, ONNX)) else name + suffix)
    problem = _problem(args.file, KNOWN.get(target.name))
    if problem:
        print(f"not imported: {problem}", file=sys.stderr)
        return 1
    if target.exists() and not args.force and sha256(target) != sha256(args.file):
        print(f"not imported: {target} exists with different content; --force replaces it", file=sys.stderr)
        return 1
    if target.resolve() != args.file.resolve():
        with replacing(target) as temporary:
            shutil.copyfile(args.file, temporary)
    return _report(target, KNOWN.get(target.name))


def _recognised(file: Path) -> str | None:
    """The name that parameter files use for a known file, which its publisher may have named differently."""
    if not file.is_file():
        return None
    digest = sha256(file)
    return next((entry.name for entry in KNOWN.values() if digest in (entry.sha256, entry.tested)), None)


def _check(args: argparse.Namespace) -> int:
    if args.names:
        files = {name: find_weights(name, [_folder()]) for name in args.names}
    else:
        found = [file for folder in (_folder(), cache_dir()) for file in sorted(folder.glob("*"))]
        ours = [file for file in found if file.name.endswith((*SUFFIXES, ONNX))]
        files = {str(file): file for file in ours + bundled_networks()}
    if not files:
        print(f"no networks in {_folder()} or {cache_dir()}; `pytracking weights list` shows sources")
        return 0
    for name in (name for name, file in files.items() if file is None):
        print(f"MISSING  {name}")
    states = [1 if file is None else _report(file, KNOWN.get(file.name)) for file in files.values()]
    return max(states)


def _report(file: Path, entry: KnownWeights | None) -> int:
    problem = _problem(file, entry)
    print(f"BAD      {problem}" if problem else f"OK       {file} (sha256 {sha256(file)[:16]}…)")
    return 1 if problem else 0


def _problem(file: Path, entry: KnownWeights | None) -> str | None:
    """What is wrong with a network file, or None."""
    if file.suffix == ONNX:
        return _onnx_problem(file)
    try:
        checkpoint = read_checkpoint(file)
        if checkpoint.constructor is not None:
            load_network(file)
    except CheckpointError as error:
        return str(error)
    if entry is None:
        return None
    if entry.sha256 and not sha256(file).startswith(entry.sha256):
        return f"{file}: its sha256 differs from that of the published {entry.name} ({entry.sha256[:16]}…)"
    function = (checkpoint.constructor or {}).get("function")
    if entry.network and function != entry.network:
        return f"{file}: holds {function or 'a bare state dict'}, but {entry.name} is a {entry.network}"
    return None


def _onnx_problem(file: Path) -> str | None:
    import onnxruntime

    if not file.is_file():
        return f"{file}: no such file"
    try:
        onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's exceptions have no common base class
        return f"{file}: is not an ONNX network that ONNX Runtime can run ({str(error).splitlines()[0][:160]})"
    return None
