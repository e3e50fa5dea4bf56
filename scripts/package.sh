#!/usr/bin/env bash
# Makes a Debian package: program, manual pages, completions, documentation, licences.
#
#   scripts/package.sh                  build the program (release, with encryption: it takes libssl-dev), and make
#                                       target/debian/gently_*.deb
#   scripts/package.sh --program FILE   package this program, which was built before, in target/package
#   scripts/package.sh --check          also unpack the package into an empty root and try what is in it
#   scripts/package.sh --install        get a missing cargo-deb first, from its registry, into target/tools
#
# What goes where is in Cargo.toml, [package.metadata.deb]. The check makes no home of its own: it runs the first command
# of the README's installation in the unpacked root, with an empty home directory, and contacts nobody.
set -euo pipefail

root="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)"
cd -- "$root"

# The paths that Cargo.toml names: what is packaged beside the sources is made here.
readonly staged=target/package tools=target/tools

fail() {
  printf 'package: %s\n' "$*" >&2
  exit 2
}
have() { command -v "$1" >/dev/null 2>&1; }

program='' given=no check=no install=no
while (($# > 0)); do
  case "$1" in
  --program)
    (($# > 1)) || fail "--program wants a file"
    program="$2" given=yes
    shift
    ;;
  --check) check=yes ;;
  --install) install=yes ;;
  -h | --help)
    sed -n '2,11s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
    exit 0
    ;;
  *) fail "unknown argument '$1'; there are --program FILE, --check and --install" ;;
  esac
  shift
done

# cargo-deb, from the PATH or from target/tools.
find_cargo_deb() {
  PATH="$PATH:$root/$tools/bin"
  if have cargo-deb; then return; fi
  local get="CARGO_TARGET_DIR=$tools/build cargo install --locked cargo-deb --root $tools"
  [[ "$install" == yes ]] || fail "there is no cargo-deb. Get it with
    $get
or run scripts/package.sh --install"
  CARGO_TARGET_DIR="$tools/build" cargo install --locked cargo-deb --root "$tools" ||
    fail "cargo-deb could not be had, and nothing else makes the package here"
}

# The program, and what it says of itself: cargo-deb takes it from where cargo would have built it.
stage() {
  local built="$staged/build/release/gently"
  rm -rf -- "$staged"
  mkdir -p -- "$staged/build/release" "$staged/completions"
  cp -- "$program" "$built"
  if have strip; then
    strip --strip-unneeded -- "$built"
  else
    echo "package: there is no strip (binutils); the program keeps its symbols"
  fi
  "$built" man "$staged/man"
  local shell
  for shell in bash zsh fish; do
    "$built" completions "$shell" >"$staged/completions/gently.$shell"
  done
}

# Makes the package, and puts its path into `package`.
make_package() {
  local -a options=(--no-build --no-strip --locked --offline --quiet --output "$staged")
  # Who brings a program tries the package, most of the time.
  if [[ "$given" == yes ]]; then options+=(--fast); fi
  package="$(CARGO_TARGET_DIR="$staged/build" cargo-deb "${options[@]}")"
  [[ -f "$package" ]] || fail "cargo-deb named no package: '$package'"
}

# The first command of the README's installation that runs gently.
first_command() {
  sed -n '/^## Install$/,/^## /s/^    \(gently .*\)$/\1/p' README.md | head -n 1
}

# Runs something as a newcomer would whose system has this package, and nothing else of gently.
in_root() {
  env -i PATH="$unpacked/usr/bin:/usr/bin:/bin" HOME="$unpacked/root" LC_ALL=C.UTF-8 \
    GENTLY_ANCHOR_MODE=off GENTLY_MODEL_DEFAULT=observer GENTLY_OTS_CALENDARS='[]' \
    bash -euo pipefail -c "cd; $1"
}

holds() {
  local path
  for path in "$@"; do
    [[ -f "$unpacked/$path" ]] || fail "the package holds no $path"
  done
}

check_package() {
  have dpkg-deb || {
    echo "package: skipped: there is no dpkg-deb to unpack the package with"
    return 0
  }
  unpacked="$(mktemp -d)"
  # shellcheck disable=SC2064 # now, not when it ends
  trap "rm -rf -- '$unpacked'" EXIT
  dpkg-deb -x "$package" "$unpacked"
  mkdir -m 700 -- "$unpacked/root"
  holds usr/bin/gently usr/share/man/man1/gently.1.gz usr/share/man/man1/gently-audit-verify.1.gz \
    usr/share/bash-completion/completions/gently usr/share/zsh/vendor-completions/_gently \
    usr/share/fish/vendor_completions.d/gently.fish usr/share/doc/gently/README.md \
    usr/share/doc/gently/docs/format.md usr/share/doc/gently/docs/guide/README.md \
    usr/share/doc/gently/scripts/verify.py usr/share/doc/gently/copyright \
    usr/share/doc/gently/LICENSE-MIT usr/share/doc/gently/LICENSE-APACHE
  local command answer
  command="$(first_command)"
  [[ -n "$command" ]] || fail "the README's installation runs no gently"
  echo "\$ $command"
  answer="$(in_root "$command" 2>"$unpacked/err")" || fail "it ended with $?: $(cat "$unpacked/err")"
  [[ -n "$answer" ]] || fail "it answered nothing: $(cat "$unpacked/err")"
  printf '%s\n' "$answer"
  grep -qE '^(✔|ok) [0-9a-f]+/1( |$)' "$unpacked/err" || fail "nothing says that it is on record: $(cat "$unpacked/err")"
  in_root 'gently audit verify' >"$unpacked/out" || fail "the record does not verify: $(cat "$unpacked/out")"
  in_root 'python3 --version >/dev/null 2>&1 || exit 0
    python3 "${PATH%%/usr/bin:*}/usr/share/doc/gently/scripts/verify.py" .local/share/gently/ledger.git \
      --log .local/share/gently/audit.log --signer .local/share/gently/keys/allowed_signers' >"$unpacked/out" ||
    fail "verify.py of the package disagrees: $(cat "$unpacked/out")"
  bash -n "$unpacked/usr/share/bash-completion/completions/gently" || fail "bash does not read the completions"
  if have groff; then
    [[ -z "$(zcat "$unpacked"/usr/share/man/man1/*.gz | groff -k -K utf8 -man -Tutf8 -ww 2>&1 >/dev/null)" ]] ||
      fail "groff warns of the manual pages"
  else
    echo "package: skipped: there is no groff to set the manual pages with"
  fi
  dpkg-deb -f "$package" Package Version Architecture Installed-Size Depends
}

have cargo || fail "there is no cargo: https://rustup.rs"
find_cargo_deb
if [[ -z "$program" ]]; then
  cargo build --locked --release --features sealed --bin gently
  program="${CARGO_TARGET_DIR:-target}/release/gently"
fi
[[ -x "$program" && -f "$program" ]] || fail "$program is no program"
stage
make_package
if [[ "$check" == yes ]]; then check_package; fi
# A program that was brought along may be any: the package of it is not kept where a release is looked for.
if [[ "$given" == no ]]; then
  mkdir -p target/debian
  mv -f -- "$package" target/debian/
  package="target/debian/$(basename -- "$package")"
fi
echo "${package#"$root"/}: $(stat -c %s -- "$package") bytes"
