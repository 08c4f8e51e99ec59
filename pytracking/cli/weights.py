"""``python -m pytracking weights list | fetch NAME | import FILE | check``: networks here, and where to get others."""
from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from ltr.checkpoint import CheckpointError, load_network, read_checkpoint
from ltr.download import DownloadError, download
from ltr.weights import KNOWN, SUFFIX, SUFFIXES, KnownWeights, bundled_networks, cache_dir, find_weights
from pytracking.evaluation.environment import env_settings
from pytracking.utils.files import replacing, sha256
from pytracking.utils.names import unknown_name_message


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", help="default: list")
    parser.set_defaults(action="list")
    actions.add_parser("list", help="networks that are known, and which of them are here")
    fetch = actions.add_parser("fetch", help="download a network")
    fetch.add_argument("name", help="name from the list, e.g. dimp50.pth")
    place = actions.add_parser("import", help="check a file that you downloaded yourself and put it in place")
    place.add_argument("file", type=Path)
    place.add_argument("--name", help="file name to give it; by default its own")
    check = actions.add_parser("check", help="read every network that is here, or some, and say whether they load")
    check.add_argument("names", nargs="*", metavar="NAME")
    for sub in (fetch, place):
        sub.add_argument("--into", type=Path, help="folder; by default network_path of the settings")
        sub.add_argument("--force", action="store_true", help="replace a file of that name")


def run(args: argparse.Namespace) -> int:
    actions = {"list": _list, "fetch": _fetch, "import": _import, "check": _check}
    return actions[args.action](args)


def _search_dirs() -> list[Path]:
    return [env_settings().network_path]


def _list(_: argparse.Namespace) -> int:
    print(f"networks are looked for in {_search_dirs()[0]}, then {cache_dir()}, then among the bundled ones\n")
    for entry in KNOWN.values():
        found = find_weights(entry.name, _search_dirs())
        state = f"here: {found}" if found else f"not here; from {entry.page}"
        size = f", {entry.size / 1e6:.1f} MB" if entry.size else ""
        digest = f", sha256 {entry.sha256[:8]}…" if entry.sha256 else ""
        print(f"{entry.name:<28} {entry.description}{size}{digest}\n{'':<28} {state}")
    for file in bundled_networks():
        print(f"{file.stem:<28} bundled, {file.stat().st_size / 1e6:.1f} MB")
    return 0


def _fetch(args: argparse.Namespace) -> int:
    names = [args.name, *(args.name + suffix for suffix in SUFFIXES)]
    entry = next((KNOWN[name] for name in names if name in KNOWN), None)
    if entry is None:
        print(unknown_name_message("network", args.name, list(KNOWN)), file=sys.stderr)
        return 2
    target = (args.into or _search_dirs()[0]) / entry.name
    if target.exists() and not args.force:
        print(f"{target} is already here; --force downloads it again")
        return _report(target, entry)
    try:
        download(entry.url, target, sha256=entry.sha256, size=entry.size)
    except DownloadError as error:
        print(f"{entry.name}: {error}\n{_by_hand(entry)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"\nstopped; `python -m pytracking weights fetch {entry.name}` continues", file=sys.stderr)
        return 130
    return _report(target, entry)


def _by_hand(entry: KnownWeights) -> str:
    return (
        f"To place it by hand: open {entry.page} in a browser (on any machine), download {entry.name}, then run\n"
        f"  python -m pytracking weights import PATH/TO/{entry.name}"
    )


def _import(args: argparse.Namespace) -> int:
    name = args.name or args.file.name
    target = (args.into or _search_dirs()[0]) / (name if name.endswith(SUFFIXES) else name + SUFFIX)
    problem = _problem(args.file, KNOWN.get(target.name))
    if problem:
        print(f"not imported: {problem}", file=sys.stderr)
        return 1
    if target.exists() and not args.force and sha256(target) != sha256(args.file):
        print(f"not imported: {target} exists and is another file; --force replaces it", file=sys.stderr)
        return 1
    if target.resolve() != args.file.resolve():
        with replacing(target) as temporary:
            shutil.copyfile(args.file, temporary)
    return _report(target, KNOWN.get(target.name))


def _check(args: argparse.Namespace) -> int:
    if args.names:
        files = {name: find_weights(name, _search_dirs()) for name in args.names}
    else:
        folders = [*_search_dirs(), cache_dir()]
        found = [file for folder in folders for file in _networks_in(folder)] + bundled_networks()
        files = {str(file): file for file in found}
    if not files:
        print(f"no networks in {_search_dirs()[0]} or {cache_dir()}; `python -m pytracking weights list` shows sources")
        return 0
    failures = 0
    for name, file in files.items():
        if file is None:
            print(f"MISSING  {name}")
            failures += 1
        else:
            failures += _report(file, KNOWN.get(file.name)) != 0
    return 1 if failures else 0


def _networks_in(folder: Path) -> list[Path]:
    return sorted(file for suffix in SUFFIXES for file in folder.glob(f"*{suffix}"))


def _report(file: Path, entry: KnownWeights | None) -> int:
    problem = _problem(file, entry)
    print(f"BAD      {problem}" if problem else f"OK       {file} (sha256 {sha256(file)[:16]}…)")
    return 1 if problem else 0


def _problem(file: Path, entry: KnownWeights | None) -> str | None:
    """Why a network file is of no use, or None."""
    try:
        checkpoint = read_checkpoint(file)
        if checkpoint.constructor is not None:
            load_network(file)
    except CheckpointError as error:
        return str(error)
    if entry is None:
        return None
    if entry.sha256 and not sha256(file).startswith(entry.sha256):
        return f"{file}: has another sha256 than the published {entry.name} ({entry.sha256[:16]}…)"
    function = (checkpoint.constructor or {}).get("function")
    if entry.network and function != entry.network:
        return f"{file}: holds {function or 'a bare state dict'}, but {entry.name} is a {entry.network}"
    return None
