#!/usr/bin/env bash
# The gate: everything that has to hold before a change lands. The same locally and in CI.
#
#   scripts/check.sh             check; missing system tools are named with the command that installs them
#   scripts/check.sh --install   install missing system tools with apt-get first
#
# Missing tools are also installed without being asked when CI=true or when the caller is root.
# A browser for the page of `gently share` goes into target/page, and not into the system.
# Network: package registries only (apt, crates, npm for that browser, and PyPI for tests that run a real language model).
set -euo pipefail

root="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)"
cd -- "$root"

install=no
case "${1:-}" in
'') ;;
--install) install=yes ;;
-h | --help)
  sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
  exit 0
  ;;
*)
  echo "check: unknown argument '$1'; the only one is --install" >&2
  exit 2
  ;;
esac
if [[ "${CI:-}" == true || "$(id -u)" -eq 0 ]]; then install=yes; fi

say() { printf '\n== %s\n' "$*"; }
fail() {
  printf 'check: %s\n' "$*" >&2
  exit 1
}
have() { command -v "$1" >/dev/null 2>&1; }

# Runs one step under a heading and prints how long it took.
step() {
  local name="$1" started=$SECONDS
  shift
  say "$name"
  if ! "$@"; then fail "$name: failed after $((SECONDS - started)) s"; fi
  printf -- '-- %s: ok, %d s\n' "$name" "$((SECONDS - started))"
}

# Encryption at rest is built once on the system's OpenSSL.
has_libcrypto() {
  printf '#include <openssl/evp.h>\n' | cc -E - >/dev/null 2>&1
}

missing_packages() {
  has_libcrypto || echo libssl-dev
  have git || echo git
  have ssh-keygen || echo openssh-client
  have python3 || echo python3
  python3 -c 'import venv, ensurepip' >/dev/null 2>&1 || echo python3-venv
}

system_tools() {
  local -a packages as_root=()
  mapfile -t packages < <(missing_packages)
  if ((${#packages[@]} == 0)); then
    echo "git, ssh-keygen, python3 (with venv) and OpenSSL's headers are here"
    return 0
  fi
  if [[ "$(id -u)" -ne 0 ]]; then as_root=(sudo); fi
  local command="${as_root[*]:+${as_root[*]} }apt-get install -y --no-install-recommends ${packages[*]}"
  if [[ "$install" != yes ]]; then
    echo "missing: ${packages[*]}. Install them with"
    echo "    $command"
    echo "or run scripts/check.sh --install"
    return 1
  fi
  have apt-get || fail "missing: ${packages[*]}, and there is no apt-get here; install them by this system's own means"
  ((${#as_root[@]} == 0)) || have sudo || fail "missing: ${packages[*]}; as root: $command"
  echo "installing: ${packages[*]}"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -q
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${packages[@]}"
  mapfile -t packages < <(missing_packages)
  ((${#packages[@]} == 0)) || fail "still missing after the installation: ${packages[*]}"
}

compilers() {
  local ok=0
  have cargo || {
    echo "no cargo: install Rust (https://rustup.rs), rust-version as in Cargo.toml"
    return 1
  }
  have cc || have gcc || have clang || {
    echo "no C compiler (SQLite and ring are built from C): apt-get install -y gcc libc6-dev"
    ok=1
  }
  cargo fmt --version >/dev/null 2>&1 || {
    echo "no rustfmt: rustup component add rustfmt"
    ok=1
  }
  cargo clippy --version >/dev/null 2>&1 || {
    echo "no clippy: rustup component add clippy"
    ok=1
  }
  ((ok == 0)) || return 1
  rustc --version
}

# Prints `FILE:LINE:TEXT` of every line of the sources outside `#[cfg(test)]` modules, and those of tests that a feature
# brings (`all(test, …)`). A test module ends at the closing brace in the first column, where rustfmt puts it.
product_lines() {
  # shellcheck disable=SC2016 # the dollars are awk's
  find src -name '*.rs' ! -name 'tests.rs' ! -name '*_tests.rs' ! -path '*/tests/*' -print0 | sort -z | xargs -0 awk '
    FNR == 1 { in_test = 0; pending = 0 }
    in_test { if ($0 ~ /^}/) in_test = 0; next }
    pending { pending = 0; if ($0 ~ /^(pub(\([a-z]+\))? )?mod [a-z_]+ *\{/) { in_test = 1; next } }
    /^#\[cfg\((test|all\(test, .*\))\)\]$/ { pending = 1; next }
    { print FILENAME ":" FNR ":" $0 }'
}

no_unwrap() {
  local found
  # Comments (and with them doc tests) are cut off before the search.
  found="$(product_lines | sed -E 's,^([^:]*:[0-9]+:)(.*)$,\1\2,; s,(^|[^:])//.*$,\1,' | grep -E '\.unwrap\(\)' || true)"
  [[ -z "$found" ]] || {
    printf '%s\n' "$found"
    echo "no unwrap() outside tests: return an error, or expect(\"why it cannot fail\")"
    return 1
  }
}

no_machine_paths() {
  git rev-parse --is-inside-work-tree >/dev/null 2>&1 || {
    echo "not a git checkout: skipped"
    return 0
  }
  local found
  found="$(git grep -nIE '(^|[^A-Za-z0-9._-])/(work|root)/|/home/[a-z][a-z0-9_-]*/' -- . || true)"
  [[ -z "$found" ]] || {
    printf '%s\n' "$found"
    echo "tracked files name no path of one machine"
    return 1
  }
}

# Thousands of homes are made, synced and removed by the tests. In memory that costs a third of the time: ext4 alone
# spends longer on inodes that were just freed than the tests on what they hold.
readonly TEST_ROOM_KB=2097152

cargo_test() {
  local shm=/dev/shm
  if [[ -z "${TMPDIR:-}" && -d "$shm" && -w "$shm" ]] &&
    (($(df --output=avail -k "$shm" | tail -n 1) >= TEST_ROOM_KB)); then
    local -x TMPDIR
    TMPDIR="$(mktemp -d "$shm/gently-check-XXXXXX")"
    # shellcheck disable=SC2064 # now, not when it ends
    trap "rm -rf -- '$TMPDIR'" EXIT
    echo "homes of tests are made in memory, in $TMPDIR; set TMPDIR for another place"
  fi
  cargo test --locked
}

# The page of `gently share` has its verifier in plain script: alone, beside the other two over 300 openings, and in a
# browser. What can't be had is skipped, and said; tests/page/check.sh compares many more.
page_tests() {
  local -a browser=()
  if ! have node || [[ "$(node -p 'Number(process.versions.node.split(".")[0]) >= 20')" != true ]]; then
    echo "skipped: the page of gently share, its comparison and its browser (there is no node of version 20 or later)"
    return 0
  fi
  # Where a function is asked for its result, a failure does not end it.
  node tests/page/unit.mjs || return 1
  GENTLY="$(realpath -- "${CARGO_TARGET_DIR:-target}")/debug/gently" \
    node tests/page/compare.mjs --bytes 30 --every 20 --most 300 || return 1
  if [[ "$install" == yes ]]; then browser=(--install); fi
  node tests/page/browser.mjs "${browser[@]}"
}

# Program, manual pages, completions and documentation as a Debian package, unpacked and tried. A missing cargo-deb is
# built (a minute and a half) only where missing tools are installed.
package_tests() {
  local tools=target/tools
  if ! have cargo-deb && [[ "$install" == yes && ! -x $tools/bin/cargo-deb ]]; then
    CARGO_TARGET_DIR="$tools/build" cargo install --quiet --locked cargo-deb --root "$tools" || true
  fi
  if ! have dpkg-deb || ! { have cargo-deb || [[ -x $tools/bin/cargo-deb ]]; }; then
    echo "skipped: the Debian package (it takes dpkg-deb, and cargo-deb, which scripts/package.sh --install gets)"
    return 0
  fi
  scripts/package.sh --check --program "${CARGO_TARGET_DIR:-target}/debug/gently"
}

# A plain build stays free of OpenSSL and of SQLCipher.
no_openssl() {
  local found
  found="$(cargo tree --locked --edges normal,build --prefix none | grep -Ei '^(sqlcipher-src|openssl-(sys|src)) ' || true)"
  [[ -z "$found" ]] || {
    printf '%s\n' "$found"
    echo "a plain build has no OpenSSL: what needs it goes behind the feature sealed"
    return 1
  }
}

# Encryption at rest: its own tests, and those of store, journey, erase and backup once more, over homes that are encrypted
# from their beginning.
sealed_tests() {
  cargo test --locked --features sealed --lib -- store:: keys:: || return 1
  cargo test --locked --features sealed --test gently -- sealed:: || return 1
  GENTLY_STORE_ENCRYPTED=true GENTLY_STORE_KEY="$(printf '5e%.0s' {1..32})" \
    cargo test --locked --features sealed --test gently -- store:: journey:: erase:: backup::
}

step "system tools" system_tools
step "compilers" compilers
step "no path of one machine in tracked files" no_machine_paths
step "no unwrap() in src outside tests" no_unwrap
step "no OpenSSL in a plain build" no_openssl
step "cargo fmt --check" cargo fmt --all --check
step "cargo clippy -D warnings" cargo clippy --locked --all-targets -- -D warnings
# Benchmarks are no tests (test = false), so that no other step looks at them.
step "cargo clippy -D warnings, benchmarks" cargo clippy --locked --test bench --test ledgers -- -D warnings
step "cargo doc -D warnings" env RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps
step "the program" cargo build --locked
step "the page of gently share" page_tests
step "the Debian package" package_tests
step "encryption at rest" sealed_tests
# Last, so that the closing lines of this script are cargo test's own.
step "cargo test" cargo_test
