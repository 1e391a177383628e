#!/bin/sh
# The light tests on the lowest and on the newest versions that pyproject.toml allows, for each Python at hand.
#   sh tests/ranges.sh UV FOLDER [test...]     # environments lie in FOLDER; `make ranges`
# Wheels alone: what would have to be built of an old source is no version that anybody is given.
set -eu
uv=$1 home=$2
shift 2
export UV_PYTHON_DOWNLOADS=never UV_NO_PROGRESS=1
mkdir -p "$home"
failed=
for python in ${PYTHONS:-3.11 3.12 3.13 3.14}; do
  if ! "$uv" python find -q "$python" >/dev/null 2>&1; then
    echo "$python: not at hand"
    continue
  fi
  for versions in lowest-direct highest; do
    env=$home/$python-$versions
    "$uv" pip compile -q pyproject.toml --extra test-light --resolution $versions --python "$python" --only-binary :all: \
      --no-header --no-annotate -o "$env.txt" &&
      "$uv" venv -q --clear --python "$python" "$env" &&
      "$uv" pip install -q --python "$env" -r "$env.txt" &&
      "$uv" pip install -q --python "$env" --no-deps -e . &&
      "$env/bin/python" -m pytest -n "${WORKERS:-logical}" --maxprocesses 4 --dist worksteal "$@" >"$env.log" 2>&1 &&
      said=passed || { said=FAILED failed=1; }
    echo "$python, $versions: $said ($(tail -n 1 "$env.log" 2>/dev/null))"
  done
done
[ -z "$failed" ]
