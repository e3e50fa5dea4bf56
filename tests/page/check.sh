#!/usr/bin/env bash
# The page of opening files: its script, its answers beside those of the other two verifiers, and a browser.
#
#     tests/page/check.sh [--install] [--all]
#
# GENTLY names the program, else it is left out of the comparison, which says so. --install fetches Chromium and
# playwright-core into target/page; without them the browser is skipped, and that is said. --all compares 300 changed bytes
# and every changed value of each file: some 25,000 files, and takes an hour or more; else 3,000.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

command -v node >/dev/null 2>&1 || {
  echo "skipped: the page (there is no node)"
  exit 0
}
[[ "$(node -p 'Number(process.versions.node.split(".")[0]) >= 20')" == true ]] || {
  echo "skipped: the page (node $(node --version) is older than 20)"
  exit 0
}
extent=(--bytes 30 --every 20)
install=()
for arg in "$@"; do
  case "$arg" in
    --install) install=(--install) ;;
    --all) extent=(--bytes 300 --every 1) ;;
    *)
      echo "usage: tests/page/check.sh [--install] [--all]"
      exit 2
      ;;
  esac
done
node tests/page/unit.mjs
if command -v python3 >/dev/null 2>&1; then
  node tests/page/compare.mjs "${extent[@]}"
else
  echo "skipped: the comparison (there is no python3)"
fi
node tests/page/browser.mjs "${install[@]}"
