#!/usr/bin/env bash
# Installs the project into a virtual environment, with the versions in constraints.txt.
set -euo pipefail
cd "$(dirname "$0")"

usage() {
  cat <<'TEXT'
usage: ./install.sh [--venv DIR] [--extras a,b] [--cuda [cu126]] [--headless] [--python PYTHON]

  --venv DIR       environment to create or use (default: .venv); --venv none: the active one
  --extras a,b     optional parts, see pyproject.toml: jpeg, video, vot, train, web, ray, dev (default: jpeg)
  --cuda [TAG]     torch with CUDA: PyPI's build, or the build for a CUDA version such as cu126 (default: CPU only,
                   which saves several gigabytes)
  --headless       OpenCV without windows, for machines without libGL
  --python PYTHON  interpreter for a new environment (default: python3; 3.10 or newer)
TEXT
}

venv=.venv extras=jpeg cuda="" tag="" opencv=opencv-contrib-python python=python3
while [ $# -gt 0 ]; do
  case "$1" in
    --venv) venv="${2:?--venv needs a folder}"; shift 2 ;;
    --extras) extras="${2:?--extras needs names}"; shift 2 ;;
    --cuda) cuda=yes; shift; case "${1:-}" in cu[0-9]*) tag="$1"; shift ;; esac ;;
    --headless) opencv=opencv-contrib-python-headless; shift ;;
    --python) python="${2:?--python needs an interpreter}"; shift 2 ;;
    -h | --help) usage; exit 0 ;;
    *) echo "install.sh: unknown option $1" >&2; usage >&2; exit 2 ;;
  esac
done

if [ "$venv" != none ]; then
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "install.sh: Python 3.10 or newer is needed" >&2; exit 1; }
  [ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
  python="$venv/bin/python"
fi
pip() { "$python" -m pip --disable-pip-version-check "$@"; }
constrained() { sed -n "s/^$1==\([^ ;]*\).*/\1/p" constraints.txt | head -n 1; }

# torch first: pip's resolver would choose PyPI's build, which for Linux includes gigabytes of CUDA.
torch="torch==$(constrained torch)"
wheels=https://download.pytorch.org/whl
has_torch() { "$python" -c "import torch, sys; sys.exit(not torch.__version__.startswith('$(constrained torch)'))" 2>/dev/null; }
if [ -n "$cuda" ]; then
  if [ -n "$tag" ]; then pip install -q "$torch+$tag" --extra-index-url "$wheels/$tag"; else pip install -q "$torch"; fi
elif ! has_torch; then
  echo "installing $torch (CPU)"
  if [ "$(uname -s)" = Linux ]; then
    pip install -q "$torch+cpu" -c constraints.txt 2>/dev/null ||
      pip install -q "$torch+cpu" -c constraints.txt --extra-index-url "$wheels/cpu" ||
      { echo "no CPU build found; installing PyPI's torch, which may be large" >&2; pip install -q "$torch"; }
  else
    pip install -q "$torch"
  fi
fi

# Exactly one cv2: the contrib build, and an empty package in place of opencv-python (tools/opencv-python says why).
cv2_owners() {
  "$python" - <<'PYTHON'
from importlib.metadata import distributions
print(*{d.metadata["Name"] for d in distributions() if any(file.parts[0] == "cv2" for file in d.files or [])})
PYTHON
}
removed=""
for owner in $(cv2_owners); do
  if [ "$owner" != "$opencv" ]; then echo "removing $owner: $opencv takes its place"; pip uninstall -q -y "$owner"; removed=yes; fi
done
# The OpenCV packages share files: after removing one, the other must be installed again.
pip install -q ${removed:+--force-reinstall --no-deps} "$opencv==$(constrained opencv-contrib-python)" -c constraints.txt
pip install -q ./tools/opencv-python

echo "installing the project with: $extras"
pip install -q -e ".[$extras]" -c constraints.txt
"$python" -c 'import cv2' || { echo "install.sh: OpenCV cannot be loaded; on a machine without libGL try --headless" >&2; exit 1; }
echo "done: $("$python" -c 'import torch, cv2; print("torch", torch.__version__, "opencv", cv2.__version__)')"
