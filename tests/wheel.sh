#!/bin/sh
# Installs the built wheel in a fresh environment and runs it from an empty folder: nothing of the source is in reach.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
wheel=$(cd "$1" && pwd)/$(cd "$1" && ls -t eirene-*.whl | head -n 1)
away=$(mktemp -d)
trap 'rm -rf "$away"' EXIT
cp "$here/examples/dropped-argument.json" "$here/constraints.txt" "$away/"
cd "$away"
"${PYTHON:-python3}" -m venv env
env/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt "$wheel"
env/bin/python -c "import eirene, pathlib; assert pathlib.Path(eirene.__file__).is_relative_to('$away'), eirene.__file__"
env/bin/python -c "import importlib.util as u; assert u.find_spec('torch') is None, 'the light install brings torch'"
env/bin/eirene refine dropped-argument.json --json | env/bin/python -m json.tool >/dev/null
env/bin/python -c "import eirene; eirene.build_graph().get_graph().draw_mermaid()"
echo "the wheel runs by itself"
