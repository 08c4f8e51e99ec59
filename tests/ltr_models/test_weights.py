"""Finding, downloading, importing and checking network files. Downloads come from a server in this process."""
import hashlib
import http.server
import threading
from pathlib import Path

import pytest
import torch

from ltr import weights
from ltr.checkpoint import save_checkpoint
from ltr.download import DownloadError, download
from ltr.engine.onnx_file import GraphFile
from ltr.models.tracking.mdnet import mdnet
from ltr.weights import KNOWN, KnownWeights, find_weights
from pytracking.__main__ import main
from pytracking.cli.weights import users_of_networks
from pytracking.utils.files import sha256

CONTENT = bytes(range(256)) * 4000


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves CONTENT with ranges; /html a page; /cut stops in the middle; /plain ignores ranges."""

    def do_GET(self):
        start = 0
        asked = self.headers.get("Range")
        if asked and self.path != "/plain":
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
        self.server.requests.append((self.path, start))
        if start >= len(CONTENT):
            self.send_error(416)
            return
        body = b"<!DOCTYPE html><html>Google Drive can't scan this file" if "html" in self.path else CONTENT[start:]
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Type", "text/html" if self.path == "/html" else "application/octet-stream")
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if self.path == "/cut" else body)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        httpd.requests = []
        thread = threading.Thread(target=httpd.serve_forever, daemon=True)
        thread.start()
        httpd.address = f"http://127.0.0.1:{httpd.server_port}"
        yield httpd
        httpd.shutdown()


def test_download_resumes(tmp_path, server):
    target = tmp_path / "net.pth"
    with pytest.raises(DownloadError, match="call again"):
        download(server.address + "/cut", target)
    part = tmp_path / "net.pth.part"
    assert part.stat().st_size == len(CONTENT) // 2 and not target.exists()
    download(server.address + "/file", target, sha256=hashlib.sha256(CONTENT).hexdigest(), size=len(CONTENT))
    assert target.read_bytes() == CONTENT and not part.exists()
    assert server.requests == [("/cut", 0), ("/file", len(CONTENT) // 2)]


def test_download_restarts_where_the_server_cannot_resume(tmp_path, server):
    (tmp_path / "net.pth.part").write_bytes(b"something old")
    download(server.address + "/plain", tmp_path / "net.pth")
    assert (tmp_path / "net.pth").read_bytes() == CONTENT


def test_a_complete_part_is_only_verified(tmp_path, server):
    (tmp_path / "net.pth.part").write_bytes(CONTENT)
    download(server.address + "/file", tmp_path / "net.pth", size=len(CONTENT))
    assert (tmp_path / "net.pth").read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("path", "expected", "message"),
    [
        ("/html", {}, "web page"),
        ("/html-as-octets", {}, "web page"),
        ("/file", {"sha256": "00"}, "sha256"),
        ("/file", {"size": 3}, "bytes instead of 3"),
    ],
)
def test_wrong_files_are_not_kept(tmp_path, server, path, expected, message):
    with pytest.raises(DownloadError, match=message):
        download(server.address + path, tmp_path / "net.pth", **expected)
    assert list(tmp_path.iterdir()) == []


def test_no_connection(tmp_path):
    with pytest.raises(DownloadError, match="no connection"):
        download("http://127.0.0.1:9/net.pth", tmp_path / "net.pth", timeout=2)


def test_search_order(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(weights, "BUNDLED", tmp_path / "bundled")
    places = [tmp_path / "first", tmp_path / "second", weights.cache_dir(), tmp_path / "bundled"]
    assert find_weights("net", places[:2]) is None
    for place in reversed(places):
        place.mkdir(parents=True)
        (place / "net.pth").touch()
        assert find_weights("net", places[:2]) == place / "net.pth"
        assert find_weights("net.pth", places[:2]) == place / "net.pth"
    assert find_weights(str(tmp_path / "second" / "net.pth"), []) == tmp_path / "second" / "net.pth"
    assert find_weights(str(tmp_path / "second" / "net"), []) == tmp_path / "second" / "net.pth"
    assert find_weights(str(tmp_path / "nowhere" / "net.pth"), places[:1]) is None


def test_known_entries_are_complete():
    for name, entry in KNOWN.items():
        assert name == entry.name and entry.licence
        if entry.url is None:  # not published; the page says how to make it
            assert "pytracking train" in entry.page
        else:
            assert entry.url.startswith("https://") and entry.page.startswith("https://")


def test_every_network_that_a_parameter_file_names_is_known():
    bundled = {file.stem for file in weights.bundled_networks()}
    assert set(users_of_networks()) - bundled <= set(KNOWN)


def test_command_alone_lists_every_network(capsys):
    assert main(["weights"]) == 0
    output = capsys.readouterr().out
    assert all(name in output for name in users_of_networks())
    assert "licence: Apache-2.0" in output and "pytracking weights fetch vittrack.onnx" in output


def test_command_imports_onnx_under_the_name_of_the_parameter_files(networks, tmp_path, monkeypatch, capsys):
    graph = tmp_path / "as_published.onnx"
    file = GraphFile("peer")
    file.output("y", file.node("Relu", file.input("x", (1, 2))), (1, 2))
    graph.write_bytes(file.to_bytes())
    entry = KnownWeights("peer.onnx", "a test", "https://example.org", None, tested=sha256(graph))
    monkeypatch.setitem(KNOWN, "peer.onnx", entry)
    assert main(["weights", "import", str(graph)]) == 0
    assert (networks / "peer.onnx").read_bytes() == graph.read_bytes()
    assert main(["weights", "check"]) == 0
    (tmp_path / "page.onnx").write_text("<html>sign in</html>")
    assert main(["weights", "import", str(tmp_path / "page.onnx")]) == 1
    assert "is not an ONNX network" in capsys.readouterr().err


@pytest.fixture
def networks(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTRACKING_NETWORK_PATH", str(tmp_path / "networks"))
    monkeypatch.setattr(weights, "BUNDLED", tmp_path / "bundled")
    return tmp_path / "networks"


def small_network(path: Path) -> Path:
    net = mdnet(spec="alexnet", hidden=4)
    constructor = {"function": "ltr.models.tracking.mdnet.mdnet", "kwargs": {"spec": "alexnet", "hidden": 4}}
    save_checkpoint(path, net.state_dict(), constructor)
    return path


def test_command_import_and_check(tmp_path, networks, capsys):
    file = small_network(tmp_path / "mine.pth")
    assert main(["weights", "import", str(file)]) == 0
    assert (networks / "mine.pth").read_bytes() == file.read_bytes()
    assert main(["weights", "check"]) == 0
    assert "OK" in capsys.readouterr().out
    (networks / "page.pth").write_text("<html>")
    assert main(["weights", "check"]) == 1
    assert "web page" in capsys.readouterr().out
    assert main(["weights", "check", "nothing"]) == 1


def test_command_import_refuses(tmp_path, networks, capsys):
    page = tmp_path / "dimp50.pth"
    page.write_text("<!doctype html>")
    assert main(["weights", "import", str(page)]) == 1
    assert main(["weights", "import", str(small_network(tmp_path / "x.pth")), "--name", "dimp50"]) == 1
    assert "but dimp50.pth is a" in capsys.readouterr().err
    assert not networks.exists()


def test_command_import_does_not_replace_silently(tmp_path, networks, capsys):
    torch.manual_seed(0)
    first, second = small_network(tmp_path / "a.pth"), small_network(tmp_path / "b.pth")
    assert main(["weights", "import", str(first), "--name", "net"]) == 0
    assert main(["weights", "import", str(second), "--name", "net"]) == 1
    assert "--force" in capsys.readouterr().err
    assert main(["weights", "import", str(second), "--name", "net", "--force"]) == 0
    assert (networks / "net.pth").read_bytes() == second.read_bytes()


def test_command_fetch(tmp_path, networks, server, monkeypatch, capsys):
    source = small_network(tmp_path / "source.pth").read_bytes()
    monkeypatch.setitem(globals(), "CONTENT", source)
    entry = KnownWeights(
        "tiny.pth", "a test", "https://example.org", server.address + "/file",
        size=len(source), sha256=hashlib.sha256(source).hexdigest(), network="ltr.models.tracking.mdnet.mdnet",
    )
    monkeypatch.setitem(KNOWN, "tiny.pth", entry)
    assert main(["weights", "fetch", "tiny"]) == 0
    assert (networks / "tiny.pth").read_bytes() == source
    assert main(["weights", "fetch", "tiny"]) == 0  # is already here
    assert len(server.requests) == 1
    assert main(["weights", "list"]) == 0
    assert f"here: {networks / 'tiny.pth'}" in capsys.readouterr().out


def test_command_fetch_without_network(networks, monkeypatch, capsys):
    entry = KnownWeights("gone.pth", "a test", "https://example.org/page", "http://127.0.0.1:9/gone.pth")
    monkeypatch.setitem(KNOWN, "gone.pth", entry)
    assert main(["weights", "fetch", "gone.pth"]) == 1
    message = capsys.readouterr().err
    assert "no connection" in message and "https://example.org/page" in message and "weights import" in message
    assert main(["weights", "fetch", "unheard-of"]) == 2
