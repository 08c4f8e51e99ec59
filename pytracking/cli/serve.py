"""``pytracking serve [FOLDER ...]``: serves a page that tracks your own video in the browser."""
import argparse
import tempfile
from pathlib import Path

from ltr.errors import MissingPackageError
from pytracking.cli.computing import add_computing_options, apply_computing_options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER", help="folders whose videos are offered")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine only)")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--allow-remote", action="store_true", help="accept other machines; they need a token")
    parser.add_argument("--name", action="append", default=[], help="with --allow-remote: host name of this machine")
    parser.add_argument("--token", help="with --allow-remote: use this token instead of a random one")
    parser.add_argument("--max-upload", type=int, default=512, metavar="MIB", help="largest upload (default: 512)")
    parser.add_argument("--sessions", type=int, default=8, help="videos tracked at the same time (default: 8)")
    add_computing_options(parser)
    parser.add_argument(
        "--frame-cache", type=int, default=4096, metavar="MIB", help="disk space for past frames (default: 4096)"
    )
    parser.add_argument("--no-demo", action="store_true", help="do not offer the demo sequences")


def run(args: argparse.Namespace) -> int:
    apply_computing_options(args)
    try:
        import uvicorn

        from pytracking.web.app import create_app
        from pytracking.web.camera import MAX_PICTURE
    except ImportError as error:
        remedy = "pip install 'rls-tracking[web]'"
        raise MissingPackageError(f"the page needs the extra 'web' ({error.name} is missing): {remedy}") from error
    from pytracking.evaluation import get_dataset
    from pytracking.web.settings import WebSettings

    with tempfile.TemporaryDirectory(prefix="pytracking-uploads-") as uploads:
        settings = WebSettings(
            uploads=Path(uploads), folders=tuple(args.folders), host=args.host, port=args.port,
            allow_remote=args.allow_remote, token=args.token, demo=not args.no_demo,
            max_upload_bytes=args.max_upload * 2**20, max_sessions=args.sessions,
            names=tuple(args.name), frame_bytes=args.frame_cache * 2**20,
        )
        if settings.demo:
            get_dataset("demo")  # rendered now, with a progress bar, so that the page need not wait
        query = f"/?token={settings.token}" if settings.token else "/"
        print(f"open http://{settings.host}:{settings.port}{query}   (Ctrl-C ends the server)", flush=True)
        app, largest = create_app(settings), MAX_PICTURE + 1
        uvicorn.run(app, host=settings.host, port=settings.port, log_level="warning", ws_max_size=largest)
    return 0
