"""What the server refuses: other sites and hosts, files that are no videos, paths; and what it does not say."""
import json

import pytest

pytest.importorskip("starlette", reason="the extra 'web' is not installed")
pytest.importorskip("httpx", reason="starlette's test client needs httpx")

from starlette.websockets import WebSocketDisconnect  # noqa: E402

from pytracking.web.app import create_app  # noqa: E402
from pytracking.web.security import without_paths  # noqa: E402
from pytracking.web.settings import SettingsError, WebSettings  # noqa: E402
from tests.web.client import TRACK, browse, client, frames_until_end, start_message  # noqa: E402


@pytest.mark.parametrize(
    ("name", "body", "status"),
    [
        ("clip.txt", b"text", 415), ("clip.mp4", b"", 400), ("clip.mp4", b"<html>no video</html>", 415),
        ("", b"x", 415), ("../../../etc/evil.mp4", b"x", 415), ("a" * 3000 + ".mp4", b"x", 415),
        ("clip.mp4\x00.txt", b"x", 415), ("clip.avi", b"RIFF" + bytes(100), 415),
    ],
)  # fmt: skip
def test_bad_uploads_are_refused_and_leave_nothing(tmp_path, name, body, status):
    server = client(tmp_path)
    answer = server.post("/api/videos", params={"name": name}, content=body)
    assert answer.status_code == status and answer.json()["error"]
    assert not list((tmp_path / "uploads").iterdir())
    assert not list(tmp_path.rglob("evil*"))


def test_an_upload_that_is_too_large_is_stopped(tmp_path):
    server = client(tmp_path, max_upload_bytes=1000)
    answer = server.post("/api/videos", params={"name": "a.mp4"}, content=bytes(5000))
    assert answer.status_code == 413
    assert not list((tmp_path / "uploads").iterdir())


def test_a_good_upload_can_be_tracked_and_old_ones_go(tmp_path, folder):
    server = client(tmp_path, max_uploads=1)
    data = (folder / "deep" / "clip.avi").read_bytes()
    first = server.post("/api/videos", params={"name": "../my clip.avi"}, content=data)
    assert first.status_code == 201 and first.json()["title"] == "my clip.avi"
    second = server.post("/api/videos", params={"name": "b.avi"}, content=data)
    assert [video["id"] for video in server.get("/api/videos").json()] == [second.json()["id"]]
    assert len(list((tmp_path / "uploads").iterdir())) == 1


@pytest.mark.parametrize(
    "address",
    ["/api/videos/nothing", "/api/videos/nothing/frames/0.jpg", "/api/videos/nothing/thumbnail.jpg", "/api/runs/x",
     "/api/runs/x/boxes.csv", "/api/runs/x/video", "/api/runs/x/frames/0", "/static/../app.py",
     "/static/%2e%2e/app.py", "/api/videos/..%2f..%2fsecret/frames/0.jpg"],
)  # fmt: skip
def test_what_is_not_there_is_404(tmp_path, folder, address):
    answer = client(tmp_path, folders=(folder,)).get(address)
    assert answer.status_code == 404 and b"Traceback" not in answer.content


def test_uploads_that_are_being_tracked_are_not_removed(tmp_path, folder):
    server = client(tmp_path, max_uploads=1, frames_in_flight=1)
    data = (folder / "deep" / "clip.avi").read_bytes()
    server.post("/api/videos", params={"name": "a.avi"}, content=data)
    with server.websocket_connect(TRACK) as socket:
        socket.send_text(start_message(server))
        assert socket.receive_json()["type"] == "started"
        refused = server.post("/api/videos", params={"name": "b.avi"}, content=data)
        assert refused.status_code == 507 and "no room" in refused.json()["error"]
        assert [video["title"] for video in server.get("/api/videos").json()] == ["a.avi"]


def test_a_remote_host_needs_the_flag_and_has_a_token_by_construction(tmp_path, folder):
    with pytest.raises(SettingsError, match="--allow-remote"):
        WebSettings(uploads=tmp_path, host="0.0.0.0")
    settings = WebSettings(uploads=tmp_path / "u", host="0.0.0.0", allow_remote=True, demo=False, names=("box.lan",))
    assert len(settings.token) >= 20
    server = browse(create_app(settings), "http://box.lan:8000", "10.0.0.7")
    assert server.get("/").status_code == 403
    assert server.get("/", params={"token": "wrong"}).status_code == 403
    assert server.get("/", params={"token": settings.token}).status_code == 200
    assert server.get("/api/videos").status_code == 200, "the cookie is enough from then on"
    assert server.get("/", headers={"host": "other.lan"}).status_code == 400, "only hosts it was started for"


def test_pages_of_other_sites_are_kept_out(tmp_path, folder):
    server = client(tmp_path, folders=(folder,))
    data = (folder / "deep" / "clip.avi").read_bytes()
    for host in ("evil.example", "testserver", "127.0.0.1.evil.example", ""):
        assert server.get("/", headers={"host": host}).status_code == 400
    for headers in ({"origin": "http://evil.example"}, {"origin": "null"}, {"origin": "http://127.0.0.1:9"},
                    {"sec-fetch-site": "cross-site"}):
        answer = server.post("/api/videos", params={"name": "a.avi"}, content=data, headers=headers)
        assert answer.status_code == 403, "a page elsewhere must not fill the disk"
        with pytest.raises(WebSocketDisconnect), server.websocket_connect(TRACK, headers=headers):
            pass
    assert not list((tmp_path / "uploads").iterdir())
    own = {"origin": "http://127.0.0.1:8000"}
    assert server.post("/api/videos", params={"name": "a.avi"}, content=data, headers=own).status_code == 201


def test_answers_restrict_what_the_browser_does(tmp_path, folder):
    server = client(tmp_path, folders=(folder,))
    for address in ("/", "/api/videos", "/static/main.js", "/nothing"):
        headers = server.get(address).headers
        assert "script-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff" and headers["x-frame-options"] == "DENY"
    page = server.get("/").text
    assert "<script>" not in page and " style=" not in page and " onclick" not in page


def test_no_message_carries_a_path_of_the_server(tmp_path, folder):
    (folder / "broken.avi").write_bytes(b"no video")
    server = client(tmp_path, folders=(folder,))
    broken = next(video for video in server.get("/api/videos").json() if video["title"] == "broken.avi")
    answer = server.get(f"/api/videos/{broken['id']}")
    assert answer.status_code == 422 and "broken.avi" in answer.text and str(tmp_path) not in answer.text
    with server.websocket_connect(TRACK) as socket:
        socket.send_text(start_message(server, video=broken["id"]))
        _, end = frames_until_end(socket)
    assert "broken.avi" in end["reason"] and str(tmp_path) not in json.dumps(end)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("/home/me/a b.txt: no", "a b.txt: no"), ("no '/srv/x/y.pth' here", "no 'y.pth' here"),
        (r"C:\Users\me\clip.mp4 is bad", "clip.mp4 is bad"), ("score 1/2 of a/b", "score 1/2 of a/b"),
        ("rls_dimp/default: x", "rls_dimp/default: x"),
    ],
)  # fmt: skip
def test_paths_are_cut_out_of_messages(text, clean):
    assert without_paths(text) == clean


def test_data_is_for_the_servers_own_pages_and_pages_may_be_linked_to(tmp_path, folder):
    server = client(tmp_path, folders=(folder,))
    elsewhere = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}
    assert server.get("/", headers=elsewhere).status_code == 200
    for address in ("/api/videos", "/api/trackers", "/api/runs/x/video"):
        assert server.get(address, headers=elsewhere).status_code == 403, "not even to make it work for nothing"
        assert server.get(address, headers={"origin": "http://evil.example"}).status_code == 403


def test_without_a_token_other_machines_get_nothing_however_it_was_started(tmp_path, folder):
    app = create_app(WebSettings(uploads=tmp_path / "u", folders=(folder,), demo=False))  # and then served on 0.0.0.0
    for name in ("localhost", "127.0.0.1"):
        away = browse(app, f"http://{name}:8000", client="10.0.0.7")
        assert away.get("/").status_code == away.get("/api/videos").status_code == 403
        with pytest.raises(WebSocketDisconnect), away.websocket_connect(f"ws://{name}:8000/api/track"):
            pass
    assert browse(app, "http://[::1]:8000", client="::1").get("/").status_code == 200


def test_the_token_leaves_the_address_and_stays_in_a_cookie_of_this_site(tmp_path):
    with pytest.raises(SettingsError, match="can be guessed"):
        WebSettings(uploads=tmp_path, host="0.0.0.0", allow_remote=True, token="secret")
    settings = WebSettings(uploads=tmp_path / "u", host="0.0.0.0", allow_remote=True, demo=False, names=("box.lan",))
    server = browse(create_app(settings), "http://box.lan:8000", "10.0.0.7")
    answer = server.get("/", params={"token": settings.token}, follow_redirects=False)
    assert answer.status_code == 303 and settings.token not in answer.headers["location"]
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
    refused = browse(create_app(settings), "http://box.lan:8000", "10.0.0.7").get("/")
    assert "set-cookie" not in refused.headers and refused.headers["x-frame-options"] == "DENY"
