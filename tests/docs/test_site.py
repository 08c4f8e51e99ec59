"""The site builds without a warning and without the network; every link of the documents leads somewhere."""
from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.docs.blocks import PAGES, ROOT


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    targets = re.findall(r"\]\(([^)\s]+)\)", text)
    local = [target.split("#")[0] for target in targets if not re.match(r"[a-z]+:", target)]
    assert [target for target in local if target and not (page.parent / target).exists()] == []


def test_site_builds_strictly(tmp_path):
    pytest.importorskip("material")
    offline = {"no_proxy": "", "http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | offline, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "rls_ext.RLSPreconditioner" in (tmp_path / "reference.html").read_text(encoding="utf-8")
    pages = list(tmp_path.glob("*.html"))
    assert len(pages) > 20
    outside = [page.name for page in pages if re.search(r'(src|href)="https?://[^"]*\.(js|css)"', page.read_text())]
    assert outside == [], "the site loads nothing from elsewhere"
