#!/usr/bin/env python3
"""Checks a gently ledger: a second opinion that shares no code with gently.

    scripts/verify.py REPO-OR-BUNDLE [--log FILE] [--checkpoint FILE] [--signer KEY-OR-FILE]… [--policy FILE] [--head FILE]…
                      [--headers FILE] [--network NAME] [--require ANSWER,…] [--json]
    scripts/verify.py --log FILE                    judges the lines of a log alone
    scripts/verify.py --opening FILE [--signer KEY-OR-FILE]… [--policy FILE] [--headers FILE] [--network NAME]
                      [--require ANSWER,…] [--json]
                                                    opened texts, without any ledger

The tree head of a log is the file audit.checkpoint beside it, unless --checkpoint names another. Keys are given the newest
last. With --receipt FILE (as often as wanted) the ledger must continue what its owner once signed.

Written from docs/format.md; "section" below is a section of that page. Needs Python 3.9, its standard
library, `git` and `ssh-keygen`. The database is not looked at, and the answers say so. OpenTimestamps proofs are read, and
with --headers (a file of 80 bytes a block, called NETWORK-START.dat, as `gently anchor sync` keeps it) held against the
chain in it.

Exit 0: consistent and complete, and no line is signed by nobody (an opening: consistent, commitment and tree head are yes,
and signed by, when keys are given). 1: not so, or an answer that --require names is not yes, or a receipt or tree head that
was given says otherwise than the ledger. 2: nothing could be judged, or it was refused.

How it reads: git is asked for raw objects only, for their sizes first, and every object's name is computed again here; refs
are read here, from regular files. Every Ed25519 signature is checked here, by one predicate (s < L, A and R canonical and of
no small order, sB - hA is R); `ssh-keygen -Y verify` is asked about the 1st, 2nd, 4th, 8th … signed commit and the last one
as well, or about all of them with --every-signature (some 5 ms each). The log is read segment by segment. What takes longer
than its size allows, or more memory than git is given, is refused.
"""
import argparse
import array
import base64
import binascii
import datetime
import errno
import hashlib
import hmac
import json
import os
import re
import resource
import shutil
import stat
import subprocess
import sys
import tempfile
import time

GENESIS = "39d8668c9e1c18834931c26be61912c018fcc8e17d52f36b0a00c7020fe1ab69"
ZERO = "0" * 64
QUESTIONS = ("consistent", "complete", "unique", "not_before", "not_after", "signed_by")
MAX_LINE = 65535
MAX_NUMBER = 2 ** 64 - 1        # numbers in the log; heights below
MAX_HEIGHT = 2 ** 32 - 1
MAX_JSON_NUMBER = 2 ** 53 - 1
# How many bytes an object may have, by what it is for; a larger one is unreadable, and is not inflated.
MAX_COMMIT = MAX_TREE = MAX_HEAD = 16 << 10
MAX_DOCUMENT = MAX_NOTE = 64 << 10
MAX_SEGMENT = 64 << 20
MAX_FILE = {"prompt_hash": 65, "response_hash": 65, "chain_entry": 65, "session": 65, "btc_header": 161,
            "checkpoint": MAX_HEAD, "audit.log": MAX_SEGMENT}
MAX_PACKED_REFS = 64 << 20
SHORTEST_LINE = 94              # 64 digits of HASH, a time, the least that must be between the bars, a newline
MAX_TIME = 253402300799         # the last second of the year 9999
FINDINGS_SHOWN = 100
HEX64 = re.compile(r"[0-9a-f]{64}\Z")


class CannotLook(Exception):
    """Nothing could be checked."""


def sha256(data):
    return hashlib.sha256(data)


def hexhash(data):
    return hashlib.sha256(data).hexdigest()


# ---------------------------------------------------------------- Ed25519 (RFC 8032), verifying only

P = 2 ** 255 - 19
L = 2 ** 252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
SQRT_M1 = pow(2, (P - 1) // 4, P)
IDENTITY = (0, 1, 1, 0)


def decompress(data):
    """The point of 32 canonical bytes, or None."""
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & ((1 << 255) - 1)
    if y >= P:
        return None
    u, v = (y * y - 1) % P, (D * y * y + 1) % P
    x = u * pow(v, 3, P) * pow(u * pow(v, 7, P), (P - 5) // 8, P) % P
    if v * x * x % P == -u % P:
        x = x * SQRT_M1 % P
    elif v * x * x % P != u:
        return None
    if x == 0 and sign:
        return None
    if x & 1 != sign:
        x = P - x
    return (x, y, 1, x * y % P)


def add_points(p, q):
    a = (p[1] - p[0]) * (q[1] - q[0]) % P
    b = (p[1] + p[0]) * (q[1] + q[0]) % P
    c, d = 2 * D * p[3] * q[3] % P, 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return (e * f % P, g * h % P, f * g % P, e * h % P)


def double_and_add(n, point):
    total = IDENTITY
    while n:
        if n & 1:
            total = add_points(total, point)
        point, n = add_points(point, point), n >> 1
    return total


def encode(point):
    z = pow(point[2], P - 2, P)
    x, y = point[0] * z % P, point[1] * z % P
    return (y | (x & 1) << 255).to_bytes(32, "little")


def torsion():
    """The eight points of small order, as multiples of one of order 8."""
    for y in range(2, 99):
        point = decompress(y.to_bytes(32, "little"))
        eighth = double_and_add(L, point) if point else IDENTITY
        points = [double_and_add(n, eighth) for n in range(8)]
        if len({encode(one) for one in points}) == 8:
            return points
    raise AssertionError


class Multiples:
    """n·2^(bits·i)·Q for each digit n, each as (y+x, y-x, 2dxy): one addition for each digit."""

    def __init__(self, point, bits=4):
        rows, flat, count, places = [], [], (1 << bits) - 1, 256 // bits
        for _ in range(places):
            row = [point]
            for _ in range(count - 1):
                row.append(add_points(row[-1], point))
            flat.extend(row)
            point = add_points(row[-1], point)
        running, prefix = 1, []
        for p in flat:
            prefix.append(running)
            running = running * p[2] % P
        inverse = pow(running, P - 2, P)
        for i in range(len(flat) - 1, -1, -1):
            x, y, z, _ = flat[i]
            zi, inverse = inverse * prefix[i] % P, inverse * z % P
            x, y = x * zi % P, y * zi % P
            flat[i] = ((y + x) % P, (y - x) % P, 2 * D * x * y % P)
        for i in range(places):
            rows.append([None] + flat[count * i:count * i + count])
        self.rows, self.bits = rows, bits

    def add_times(self, n, p):
        """p + n·Q."""
        x1, y1, z1, t1 = p
        mask, bits = (1 << self.bits) - 1, self.bits
        for row in self.rows:
            q = row[n & mask]
            n >>= bits
            if q is None:
                continue
            a, b = (y1 - x1) * q[1] % P, (y1 + x1) * q[0] % P
            c, d = t1 * q[2] % P, 2 * z1
            e, f, g, h = b - a, d - c, d + c, b + a
            x1, y1, z1, t1 = e * f % P, g * h % P, f * g % P, e * h % P
        return (x1, y1, z1, t1)


class Ed25519:
    """The one predicate: s < L, A and R canonical and of no small order, and the encoding of sB − hA is R byte for
    byte. Keeps the multiples of every key it has seen, and larger tables of a key that signed much."""

    MANY = 150

    def __init__(self):
        y = 4 * pow(5, P - 2, P) % P
        self.base_point = decompress(y.to_bytes(32, "little"))
        self.base, self.small = Multiples(self.base_point), {encode(point) for point in torsion()}
        self.keys, self.seen = {}, {}

    def table(self, key):
        if key not in self.keys:
            point = None if key in self.small else decompress(key)
            self.keys[key] = point and Multiples((-point[0] % P, point[1], 1, -point[3] % P))
        seen = self.seen[key] = self.seen.get(key, 0) + 1
        if seen == self.MANY and self.keys[key]:
            point = decompress(key)
            self.keys[key] = Multiples((-point[0] % P, point[1], 1, -point[3] % P), 8)
            if self.base.bits == 4:
                self.base = Multiples(self.base_point, 8)
        return self.keys[key]

    def verify(self, key, message, signature):
        r, s = signature[:32], int.from_bytes(signature[32:], "little")
        if len(key) != 32 or len(signature) != 64 or s >= L or r in self.small:
            return False
        minus_key = self.table(key)
        if minus_key is None:
            return False
        h = int.from_bytes(hashlib.sha512(r + key + message).digest(), "little") % L
        return encode(minus_key.add_times(h, self.base.add_times(s, IDENTITY))) == r


# ---------------------------------------------------------------- spellings

def ssh_string(data):
    return len(data).to_bytes(4, "big") + data


def key_text(key):
    return "ssh-ed25519 " + base64.b64encode(ssh_string(b"ssh-ed25519") + ssh_string(key)).decode()


def read_key(text):
    """The 32 bytes of 'ssh-ed25519 BASE64', or None."""
    words = text.split(" ")
    if len(words) != 2:
        return None
    try:
        blob = base64.b64decode(words[1], validate=True)
    except (binascii.Error, ValueError):
        return None
    key = blob[-32:]
    return key if len(blob) == 51 and key_text(key) == text else None


EPOCH = datetime.datetime(1970, 1, 1)
TIME = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})Z\Z")


def read_time(text):
    """Seconds since 1970 of YYYY-MM-DDTHH:MM:SSZ, or None."""
    match = TIME.match(text)
    if not match:
        return None
    try:
        moment = datetime.datetime(*map(int, match.groups()))
    except ValueError:
        return None
    seconds = (moment - EPOCH) // datetime.timedelta(seconds=1)
    return seconds if seconds >= 0 else None


def read_number(text, most=MAX_NUMBER, least=0):
    if not re.match(r"(0|[1-9][0-9]{0,19})\Z", text):
        return None
    number = int(text)
    return number if least <= number <= most else None


def once(items):
    """The object of these keys and values. ValueError when a key stands twice."""
    if len({key for key, _ in items}) != len(items):
        raise ValueError("a key stands twice")
    return dict(items)


def read_json(data):
    """The value of canonical JSON (RFC 8785, no fractions). ValueError with the reason."""
    def refuse(what):
        raise ValueError("a number that is no integer: " + what)
    try:
        value = json.loads(data.decode("utf-8"), object_pairs_hook=once, parse_float=refuse, parse_constant=refuse)
        printed = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode("utf-8")
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if printed != data:
        raise ValueError("it is not spelled as a writer prints it")
    return value


def is_hash(value):
    return isinstance(value, str) and HEX64.match(value) is not None


def is_count(value):
    return type(value) is int and 0 <= value <= MAX_JSON_NUMBER


def is_text(value):
    return isinstance(value, str)


def is_flag(value):
    return type(value) is bool


def is_key(value):
    return isinstance(value, str) and read_key(value) is not None


def one_of(*words):
    return lambda value: isinstance(value, str) and value in words


def is_note_name(value):
    """A name that may stand in a signed note: nothing in it that is not seen as it is."""
    return isinstance(value, str) and value != "" and "+" not in value and not UNSEEN.search(value) and not any(
        c.isspace() or ord(c) < 0x20 or 0x7f <= ord(c) < 0xa0 for c in value)


def is_origin(value):
    """A ledger's own name: 1 to 100 printable bytes of ASCII, no blank, no plus."""
    return isinstance(value, str) and re.match(r"[!-*,-~]{1,100}\Z", value) is not None


def fields(value, schema):
    """What keeps a JSON object from having exactly these keys and kinds, or None."""
    if not isinstance(value, dict):
        return "it is no object"
    for key in sorted(set(value) ^ set(schema)):
        return ("key '%s' does not belong here" if key in value else "key '%s' is missing") % key
    for key, good in schema.items():
        if not good(value[key]):
            return "value of '%s': %s" % (key, json.dumps(value[key])[:80])
    return None


def has_fields(schema):
    return lambda value: fields(value, schema) is None


def is_time(value):
    return is_count(value) and value <= MAX_TIME


NETWORK = one_of("bitcoin", "testnet4", "signet", "regtest")
BLOCK = {"hash": is_hash, "height": lambda v: is_count(v) and v <= MAX_HEIGHT, "network": NETWORK,
         "source": one_of("esplora", "bitcoind", "file", "local"), "time": is_time}
FORMAT = one_of("gently/1")
DOCUMENTS = {
    "genesis.json": {"commitments": one_of("hmac-sha256", "sha256"), "created_at": is_time, "format": FORMAT,
                     "genesis": one_of(GENESIS), "network": NETWORK, "origin": is_origin, "signer": is_key},
    "session.json": {"auth_key_hash": is_hash, "block": has_fields(BLOCK), "branch": is_text, "format": FORMAT,
                     "host_role": is_text, "kernel_hash": is_hash, "model": is_text, "opened_at": is_time,
                     "phase": is_text, "prev_log": is_hash, "session_id": is_hash, "tier": is_count},
    "record.json": {"asked_at": is_time, "authority_state": one_of("ok", "insufficient", "blocked"),
                    "chain_entry": is_hash, "exchange_hash": is_hash, "format": FORMAT, "kernel_hash": is_hash,
                    "model": is_text, "prev": is_hash, "prompt_hash": is_hash, "refusal": is_flag,
                    "response_hash": is_hash, "seq": is_count, "session_id": is_hash, "timestamp": is_time,
                    "validator": has_fields({k: is_flag for k in (
                        "authority_drift", "completeness_drift", "evidence_drift", "schema_ok", "tone_drift")})},
    "close.json": {"block": has_fields(BLOCK), "closed_at": is_time, "final_chain_hash": is_hash, "format": FORMAT,
                   "interactions": is_count, "session_close_hash": is_hash, "session_id": is_hash},
    "checkpoint.json": {"block": has_fields(BLOCK), "created_at": is_time, "format": FORMAT, "log_head": is_hash,
                        "sessions_open": is_count},
    "rotate.json": {"created_at": is_time, "format": FORMAT, "new_signer": is_key, "old_signer": is_key},
}
# kind: (document, the other files, the document's time)
KINDS = {
    "genesis": ("genesis.json", ("allowed_signers",), "created_at"),
    "session_start": ("session.json", ("btc_header",), "opened_at"),
    "interaction": ("record.json", ("chain_entry", "prompt_hash", "response_hash", "session"), "timestamp"),
    "session_end": ("close.json", ("audit.log", "btc_header", "checkpoint"), "closed_at"),
    "checkpoint": ("checkpoint.json", ("audit.log", "checkpoint"), "created_at"),
    "key_rotate": ("rotate.json", ("allowed_signers", "audit.log", "checkpoint"), "created_at"),
}
ON_MAIN = ("genesis", "close", "checkpoint", "key_rotate")
CLASSES = {"authority_drift": "authority", "evidence_drift": "evidence", "tone_drift": "tone",
           "completeness_drift": "completeness"}


# ---------------------------------------------------------------- Bitcoin headers, section 9

EASIEST = {"bitcoin": 0x1d00ffff, "testnet4": 0x1d00ffff, "signet": 0x1e0377ae, "regtest": 0x207fffff}
EPOCH_BLOCKS = 2016


def target_of(bits):
    """The number that compact bits stand for, or None when they are not its one spelling."""
    size, word = bits >> 24, bits & 0xffffff
    if word & 0x800000 or word == 0:
        return None
    target = word << 8 * (size - 3) if size >= 3 else word >> 8 * (3 - size)
    again = (target.bit_length() + 7) // 8
    small = target >> 8 * (again - 3) if again >= 3 else target << 8 * (3 - again)
    if small & 0x800000:
        small, again = small >> 8, again + 1
    return target if again << 24 | small == bits and target < 1 << 256 else None


def read_epochs():
    """The table of genesis/btc-epochs.csv beside this script: [(bits, last hash or '-')], or None."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "genesis", "btc-epochs.csv")
    try:
        with open(path, encoding="ascii") as file:
            rows = [line.strip().split(",") for line in file if line[:1].isdigit()]
    except (OSError, UnicodeDecodeError):
        return None
    return [(int(bits, 16), last) for _, bits, last in rows] or None


OTHER_BLOCK, OTHER_TIME = "the header's double SHA-256 is ", "the header's time is "


def header_faults(header, block_hash, height, time, network, epochs):
    """What keeps a header of 160 digits from being accepted; an empty list when nothing does."""
    raw = bytes.fromhex(header)
    work = sha256(sha256(raw).digest()).digest()[::-1]
    if work.hex() != block_hash:
        return [OTHER_BLOCK + work.hex()]
    seconds, bits = int.from_bytes(raw[68:72], "little"), int.from_bytes(raw[72:76], "little")
    target = target_of(bits)
    if target is None:
        return ["bits %08x spell no target" % bits]
    faults = []
    if int.from_bytes(work, "big") > target:
        faults.append("the hash is above the target of bits %08x" % bits)
    if time is not None and seconds != time:
        faults.append(OTHER_TIME + str(seconds))
    if network in EASIEST and target > target_of(EASIEST[network]):
        faults.append("bits %08x are easier than %s allows" % (bits, network))
    if network == "bitcoin" and epochs:
        epoch = height // EPOCH_BLOCKS
        if epoch < len(epochs):
            due, last = epochs[epoch]
            if bits != due:
                faults.append("bits %08x are not those of epoch %d" % (bits, epoch))
            if height % EPOCH_BLOCKS == EPOCH_BLOCKS - 1 and last not in ("-", block_hash):
                faults.append("the last block of epoch %d is %s" % (epoch, last))
    return faults


FIT_HEIGHT, FIT_TIME = 830592, 1708008110


def fit(height, seconds):
    """Whether a height and a time belong together: |height - 830592 - d| <= 2016 + |d|/10, d = (time - T)/600."""
    apart = seconds - FIT_TIME
    return abs(6000 * (height - FIT_HEIGHT) - 10 * apart) <= 6000 * 2016 + abs(apart)


def cheap(header, network, epochs):
    """Whether a header shows less than a sixteenth of the work that the table's last epoch asks for."""
    target = target_of(int.from_bytes(bytes.fromhex(header)[72:76], "little"))
    return network == "bitcoin" and bool(epochs) and (target is None or target > 16 * target_of(epochs[-1][0]))


AHEAD = 7200                    # how far a block's clock may be ahead of a ledger's, and the other way round


def bits_of(target):
    """The compact spelling of a target."""
    size = (target.bit_length() + 7) // 8
    word = target >> 8 * (size - 3) if size >= 3 else target << 8 * (3 - size)
    return (size + 1) << 24 | word >> 8 if word & 0x800000 else size << 24 | word


def read_chain(path, network, epochs):
    """{height: header} of a file of kept headers: linked, with work, of the difficulty that is due."""
    if os.path.isdir(path):
        inside = [name for name in sorted(os.listdir(path)) if re.match(network + r"-(0|[1-9][0-9]*)\.dat\Z", name)]
        if not inside:
            raise CannotLook("--headers %s: no file %s-START.dat in it" % (path, network))
        path = os.path.join(path, inside[0])
    name = re.match(r"([a-z0-9]+)-(0|[1-9][0-9]*)\.dat\Z", os.path.basename(path))
    if not name or name.group(1) != network:
        raise CannotLook("--headers %s: expected a file %s-START.dat" % (path, network))
    start = height = int(name.group(2))
    last, bits, time_before, first_time, chain = None, None, 0, None, {}
    if start and network == "bitcoin" and epochs and start % EPOCH_BLOCKS == 0 and start // EPOCH_BLOCKS <= len(epochs):
        last = epochs[start // EPOCH_BLOCKS - 1][1]
    if start and last in (None, "-"):
        raise CannotLook("--headers %s: nothing built in says what is before block %d" % (path, start))
    easiest = target_of(EASIEST[network])
    file = open_regular(path)
    # A file without an end has no second header that is linked; a last one that is only partly there is left out.
    for raw in iter(lambda: file.read(80), b""):
        if len(raw) < 80:
            break
        work = sha256(sha256(raw).digest()).digest()[::-1]
        own, time = int.from_bytes(raw[72:76], "little"), int.from_bytes(raw[68:72], "little")
        due = bits
        if bits is not None and height % EPOCH_BLOCKS == 0 and network != "regtest":
            whole = 14 * 24 * 3600
            took = min(max(time_before - first_time, whole // 4), whole * 4) if first_time is not None else None
            due = None if took is None else bits_of(min(target_of(bits) * took // whole, easiest))
        if network == "bitcoin" and epochs and height // EPOCH_BLOCKS < len(epochs):
            due = epochs[height // EPOCH_BLOCKS][0]
        target = target_of(own)
        why = None
        if raw[4:36][::-1].hex() != (last or ZERO):
            why = "it is not on top of the one before"
        elif height == 0 and work.hex() != FIRST_BLOCK.get(network):
            why = "it is not the first block of " + network
        elif target is None or target > easiest or int.from_bytes(work, "big") > target:
            why = "it shows no work"
        elif network != "testnet4" and due is not None and own != due:
            why = "bits %08x, expected %08x" % (own, due)
        if why:
            raise CannotLook("--headers %s: header %d: %s" % (path, height, why))
        if height % EPOCH_BLOCKS == 0:
            first_time = time
        chain[height] = raw
        last, bits, time_before, height = work.hex(), own, time, height + 1
    file.close()
    return chain


FIRST_BLOCK = {"bitcoin": "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f",
               "testnet4": "00000000da84f2bafbbc53dee25a72ae507ff4914b867c565be350b0da8bf043",
               "signet": "00000008819873e925422c1ff0f99f7cc9bbb232af63a077a480a3633bee1ef6",
               "regtest": "0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206"}


# ---------------------------------------------------------------- OpenTimestamps, section 9

PROOF_MAGIC = b"\x00OpenTimestamps\x00\x00Proof\x00\xbf\x89\xe2\xe8\x84\xe8\x92\x94"
PROOF_PENDING, PROOF_BITCOIN = bytes.fromhex("83dfe30d2ef90c8e"), bytes.fromhex("0588960d73d71901")
PROOF_OTHERS = (bytes.fromhex("06869a0d73d71b45"), bytes.fromhex("30fe8087b5c7ead7"))
NO_HASH = "a hash that this Python has not (RIPEMD-160, as a rule)"
PROOF_HASHES = {0x02: ("sha1", 20), 0x03: ("ripemd160", 20), 0x08: ("sha256", 32), 0x67: ("keccak256", 32)}


def keccak_constants():
    """What each round adds, and by how much each of the 25 words is turned and where it goes."""
    rounds, state = [], 1
    for _ in range(24):
        word = 0
        for n in range(7):
            word ^= (state & 1) << (1 << n) - 1
            state = state << 1 ^ (0x171 if state & 0x80 else 0)
        rounds.append(word)
    turns, x, y = [(0, 0, 0)], 1, 0
    for n in range(24):
        turns.append((x + 5 * y, y + 5 * ((2 * x + 3 * y) % 5), (n + 1) * (n + 2) // 2 % 64))
        x, y = y, (2 * x + 3 * y) % 5
    return rounds, turns


KECCAK_ROUNDS, KECCAK_TURNS = keccak_constants()


def keccak256(message):
    """Keccak-256 as it was before it became SHA-3: its padding begins with 01."""
    rate, words, mask = 136, [0] * 25, (1 << 64) - 1
    message += b"\1" + bytes(-(len(message) + 1) % rate)
    message = message[:-1] + bytes([message[-1] | 0x80])
    for at in range(0, len(message), rate):
        for n in range(rate // 8):
            words[n] ^= int.from_bytes(message[at + 8 * n:at + 8 * n + 8], "little")
        for constant in KECCAK_ROUNDS:
            c = [words[x] ^ words[x + 5] ^ words[x + 10] ^ words[x + 15] ^ words[x + 20] for x in range(5)]
            d = [c[x - 1] ^ (c[x - 4] << 1 | c[x - 4] >> 63) & mask for x in range(5)]
            moved = [0] * 25
            for of, to, by in KECCAK_TURNS:
                word = words[of] ^ d[of % 5]
                moved[to] = (word << by | word >> 64 - by) & mask
            words = [moved[n] ^ ~moved[n - n % 5 + (n + 1) % 5] & moved[n - n % 5 + (n + 2) % 5] & mask for n in range(25)]
            words[0] ^= constant
    return b"".join(word.to_bytes(8, "little") for word in words[:4])


class NoProof(Exception):
    pass


class Proof:
    """An OpenTimestamps proof: `blocks` are (height, message), a message None when this Python has no such hash."""

    def __init__(self, raw, digest, look=lambda: None):
        # `look` is called before what takes long, and may refuse it.
        self.raw, self.at, self.end, self.blocks, self.promised, self.look = raw, 0, len(raw), [], False, look
        if len(raw) > 256 << 10:
            raise NoProof("more than 262144 bytes")
        if self.take(31) != PROOF_MAGIC or self.number() != 1:
            raise NoProof("it does not begin as a proof does")
        if self.take(1)[0] != 0x08 or self.take(32) != digest:
            raise NoProof("a proof of another digest")
        self.tree(digest, 32, 256)
        if self.at != self.end:
            raise NoProof("something follows the end")

    def take(self, count):
        if self.at + count > self.end:
            raise NoProof("it ends too early")
        self.at += count
        return self.raw[self.at - count:self.at]

    def number(self):
        value = 0
        for shift in range(0, 63, 7):
            byte = self.take(1)[0]
            value |= (byte & 0x7f) << shift
            if not byte & 0x80:
                return value
        raise NoProof("a number of more than nine bytes")

    def string(self, least, most, what):
        length = self.number()
        if not least <= length <= most:
            raise NoProof("%s of %d bytes" % (what, length))
        return self.take(length)

    def tree(self, message, length, levels):
        if levels == 0:
            raise NoProof("more than 256 levels")
        more = True
        while more:
            tag = self.take(1)[0]
            more = tag == 0xff
            if more:
                tag = self.take(1)[0]
            if tag == 0:
                self.attestation(message)
                continue
            below, size = self.apply(tag, message, length)
            if not 1 <= size <= 4096:
                raise NoProof("a message of %d bytes" % size)
            self.tree(below, size, levels - 1)

    def apply(self, tag, message, length):
        if tag in (0xf0, 0xf1):
            operand = self.string(1, 4096, "an operand")
            joined = None if message is None else message + operand if tag == 0xf0 else operand + message
            return joined, length + len(operand)
        if tag == 0xf2:
            return message and message[::-1], length
        if tag == 0xf3:
            return message and message.hex().encode(), 2 * length
        if tag not in PROOF_HASHES:
            raise NoProof("unknown operation %#04x" % tag)
        name, size = PROOF_HASHES[tag]
        if name == "keccak256":
            self.look()
            return message and keccak256(message), size
        try:
            return message and hashlib.new(name, message).digest(), size
        except ValueError:
            return None, size

    def attestation(self, message):
        tag = self.take(8)
        length = self.number()
        if length > 8192:
            raise NoProof("an attestation whose payload has a wrong length")
        whole, self.end = self.end, self.at + length
        if self.end > whole:
            raise NoProof("it ends too early")
        if tag == PROOF_PENDING:
            uri = self.string(0, 1000, "an address")
            if not re.match(rb"[A-Za-z0-9\-._/:]*\Z", uri):
                raise NoProof("a calendar's address that is no address")
            self.promised = True
        elif tag == PROOF_BITCOIN:
            self.blocks.append((self.number(), message))
        elif tag in PROOF_OTHERS:
            self.number()
        else:
            self.take(length)
        if self.at != self.end:
            raise NoProof("an attestation whose payload has a wrong length")
        self.end = whole


# ---------------------------------------------------------------- witnesses, section 10

MAX_COSIGNERS = 63
MAX_SIGNATURE_LINE = 8192
MAX_POLICY = 256 * 1024
CLOCKS_APART = 3600
LOG_KEY, COSIGNER_KEY = 1, 4
FORGED = "a line in its name that its key did not sign"


def key_id(name, kind, key):
    return sha256(name.encode() + b"\n" + bytes([kind]) + key).digest()[:4]


def read_vkey(text):
    """(name, kind, key) of NAME+ID+BASE64. ValueError when it is none."""
    parts = text.split("+", 2)
    if len(parts) != 3 or not is_note_name(parts[0]):
        raise ValueError("'%s' is no verifier key NAME+ID+BASE64" % text[:80])
    material = decode_base64(parts[2].encode())
    if material is None or len(material) != 33 or material[0] not in (LOG_KEY, COSIGNER_KEY):
        raise ValueError("the key of '%s' is of no known kind: 01 or 04 and 32 bytes" % parts[0])
    if key_id(parts[0], material[0], material[1:]).hex() != parts[1]:
        raise ValueError("the id of '%s' is not its key's" % parts[0])
    return parts[0], material[0], material[1:]


class Policy:
    """Whom to believe that there is one history (c2sp tlog-policy). ValueError with the line."""

    def __init__(self, text):
        self.logs, self.witnesses, self.groups, self.quorum = [], {}, {}, None
        self.members, seen = set(), False
        if len(text.encode()) > MAX_POLICY:
            raise ValueError("%d bytes are the most" % MAX_POLICY)
        for number_, line in enumerate(text.split("\n"), 1):
            if any(ord(c) < 0x20 and c != "\t" or ord(c) == 0x7f for c in line):
                raise ValueError("line %d: a control character" % number_)
            items = [item for item in re.split("[ \t]+", line) if item]
            if not items or items[0].startswith("#"):
                continue
            try:
                if items[0] == "quorum" and len(items) == 2 and not seen:
                    seen = True
                    if items[1] != "none":
                        self.quorum = self.known(items[1])
                elif items[0] == "log" and len(items) in (2, 3):
                    self.add_log(items[1])
                elif items[0] == "witness" and len(items) in (3, 4):
                    self.add_witness(items[1], items[2])
                elif items[0] == "group" and len(items) >= 4:
                    self.add_group(items[1], items[2], items[3:])
                else:
                    raise ValueError("no line of a policy, or a second quorum")
            except ValueError as error:
                raise ValueError("line %d: %s" % (number_, error)) from None
        if not seen:
            raise ValueError("no quorum line")

    def known(self, name):
        if name not in self.witnesses and name not in self.groups:
            raise ValueError("'%s' is not defined above" % name)
        return name

    def new(self, name):
        if name == "none" or name in self.witnesses or name in self.groups:
            raise ValueError("the name '%s' is taken" % name)

    def add_log(self, text):
        name, kind, key = read_vkey(text)
        if kind != LOG_KEY or any(key == other for _, other in self.logs):
            raise ValueError("a log has a key of kind 01, and stands here once")
        self.logs.append((name, key))

    def add_witness(self, called, text):
        self.new(called)
        name, kind, key = read_vkey(text)
        if kind != COSIGNER_KEY or any(key == other for _, other in self.witnesses.values()):
            raise ValueError("a witness has a key of kind 04, and stands here once")
        self.witnesses[called] = (name, key)

    def add_group(self, called, needed, members):
        self.new(called)
        for member in members:
            if self.known(member) in self.members:
                raise ValueError("'%s' is a member for the second time" % member)
            self.members.add(member)
        count = {"all": len(members), "any": 1}.get(needed, read_number(needed, len(members), 1))
        if count is None:
            raise ValueError("all, any, or 1 to %d members" % len(members))
        self.groups[called] = (count, members)

    def reached(self, names):
        def witnessed(name):
            if name not in self.groups:
                return name in names
            count, members = self.groups[name]
            return sum(map(witnessed, members)) >= count
        return self.quorum is not None and witnessed(self.quorum)

    def cosigners(self, note, holds):
        """(witness, name of its key, time) of each line in a witness's name; time None when its key did not sign."""
        _, parts, lines = note
        for called, (name, key) in self.witnesses.items():
            for line_name, ident, signed in lines:
                if line_name != name or ident != key_id(name, COSIGNER_KEY, key):
                    continue
                time = int.from_bytes(signed[:8], "big")
                message = b"cosignature/v1\ntime %d\n" % time + parts[0]
                good = len(signed) == 72 and time < 1 << 63 and holds(key, message, signed[8:])
                yield called, name, time if good else None

    def knows(self, parts, holds):
        """Whether a listed log signed a tree head; any, when none is listed."""
        text, origin, _, _, ident, signature = parts
        return not self.logs or any(origin == name and ident == key_id(name, LOG_KEY, key) and holds(key, text, signature)
                                    for name, key in self.logs)

    def reached_at(self, times, line):
        """When the first few of [(witness, time)] were enough; what is from long before a line's time does not count."""
        seen = set()
        for time, name in sorted((time, name) for name, time in times if time + CLOCKS_APART >= line):
            seen.add(name)
            if self.reached(seen):
                return time
        return None


def read_cosigned_head(raw):
    """(head's text, its parts, [(name, key id, signature)]) of a tree head with lines of others, or None."""
    text, blank, lines = raw.partition(b"\n\n")
    if not blank or not lines.endswith(b"\n"):
        return None
    own, *others = lines[:-1].split(b"\n")
    head = text + b"\n\n" + own + b"\n"
    parts = read_note(head)
    if parts is None or len(others) > MAX_COSIGNERS:
        return None
    found = []
    for line in others:
        match = re.match(rb"\xe2\x80\x94 ([^ ]+) ([A-Za-z0-9+/=]+)\Z", line)
        signed = decode_base64(match.group(2)) if match and len(line) <= MAX_SIGNATURE_LINE else None
        if signed is None or len(signed) < 5:
            return None
        try:
            name = match.group(1).decode()
        except UnicodeDecodeError:
            return None
        if not is_note_name(name):
            return None
        found.append((name, signed[:4], signed[4:]))
    return head, parts, found


# ---------------------------------------------------------------- git

def regular(path):
    """Whether a regular file stands there: a link, a pipe or a device is never opened."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def open_regular(path):
    """A file for reading. CannotLook when it is a link, a pipe, a device or a folder."""
    try:
        file = open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise CannotLook("%s is unreadable: it is a symbolic link, and a regular file belongs there" % path) from None
        raise
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise CannotLook("%s is unreadable: it is no regular file" % path)
    return file


def a_folder(path):
    """Whether a folder is there. CannotLook when something else is."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return False
    if not stat.S_ISDIR(mode):
        raise CannotLook("%s is unreadable: a folder belongs there, and it is something else" % path)
    return True


def is_repository(folder):
    """Whether it is a repository's own folder: its configuration is never asked."""
    return (os.path.isdir(os.path.join(folder, "objects")) and os.path.isdir(os.path.join(folder, "refs"))
            and os.path.lexists(os.path.join(folder, "HEAD")))


def object_folders(objects, through=()):
    """A folder of objects and those that stand in for it. CannotLook when they come back to one of them."""
    objects = os.path.realpath(objects)
    if objects in through:
        raise CannotLook("the folders that %s/info/alternates names lead back to it" % through[0])
    if len(through) > 5:
        raise CannotLook("%s/info/alternates leads through more than five folders" % through[0])
    look_over(objects)
    folders, alternates = [objects], os.path.join(objects, "info", "alternates")
    try:
        text = read_text(alternates, 64 << 10)
    except FileNotFoundError:
        return folders
    for other in lenders(text, alternates):
        try:
            os.stat(os.path.join(objects, other))
        except FileNotFoundError:
            continue
        folders += object_folders(os.path.join(objects, other), through + (objects,))
    return folders


def look_over(objects):
    """Asks everything in a folder of objects what it is, and opens nothing: git would follow a link and wait for a pipe.
    Folders in its folders are none of git's."""
    def kinds(path):
        try:
            return list(os.scandir(path))
        except FileNotFoundError:
            return []  # a writer's own, gone meanwhile
    for entry in kinds(objects):
        for inside in kinds(entry.path) if entry.is_dir(follow_symlinks=False) else [entry]:
            if not inside.is_dir(follow_symlinks=False) and not inside.is_file(follow_symlinks=False) and os.path.lexists(inside.path):
                raise CannotLook("%s is unreadable: it is no regular file" % inside.path)


ESCAPES = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}


def lenders(text, place):
    """The folders that a file alternates names, however git or another reader takes its lines."""
    found = []
    for line in os.fsdecode(text).split("\n"):
        if line and not line.startswith("#"):
            found += [line, line.rstrip("\r")]
        quoted = re.match(r'"((?:[^"\\]|\\(?:[abtnvfr"\\]|[0-3][0-7]{2}))+)"', line)
        if quoted:
            found.append(os.fsdecode(re.sub(rb'\\([0-3][0-7]{2}|.)', lambda one: bytes(
                [int(one.group(1), 8) if len(one.group(1)) == 3 else ESCAPES[one.group(1).decode()]]), os.fsencode(quoted.group(1)))))
    if any("\0" in one for one in found):
        raise CannotLook("%s is unreadable: a zero byte in the name of a folder" % place)
    return list(dict.fromkeys(found))


class Budget:
    """How long a look may take, by how much there is to look at: what is small and takes long was made to."""

    SECONDS, SECONDS_A_MIB = 40, 20

    def __init__(self):
        self.bytes, self.size_of_indexes = 0, 0

    def seconds(self):
        return self.SECONDS + self.SECONDS_A_MIB * (self.bytes >> 20)

    def check(self, where):
        used = os.times()
        if used.user + used.system + used.children_user + used.children_system > self.seconds():
            raise CannotLook("%s: refused, it takes more than %d seconds for %d MiB of ledger" % (
                where, self.seconds(), self.bytes >> 20))

    def limit_child(self):
        """What git may take; a damaged or hostile object then ends git, not the machine."""
        most = (512 << 20) + 2 * self.size_of_indexes
        for kind, value in ((resource.RLIMIT_AS, most), (resource.RLIMIT_CPU, self.seconds()), (resource.RLIMIT_CORE, 0)):
            try:
                _, hard = resource.getrlimit(kind)
                if hard != resource.RLIM_INFINITY:
                    value = min(value, hard)
                resource.setrlimit(kind, (value, hard))
            except (ValueError, OSError):
                pass


OURS = re.compile(r"refs/(?:heads/(?:main|branch-[1-7])|notes/(?:ots|witness))\Z")
ORIGIN_REF = re.compile(r"refs/remotes/origin/(main|branch-[1-7])\Z")


class Git:
    """Raw objects and refs of one repository, without its replace refs, hooks or remotes."""

    def __init__(self, path):
        # A promisor remote, or a transport, must not run anything.
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
        self.env.update(GIT_NO_REPLACE_OBJECTS="1", GIT_NO_LAZY_FETCH="1", GIT_CONFIG_NOSYSTEM="1", GIT_TERMINAL_PROMPT="0",
                        GIT_CONFIG_GLOBAL=os.devnull, GIT_OPTIONAL_LOCKS="0", LC_ALL="C",
                        GIT_CEILING_DIRECTORIES=os.path.dirname(os.path.abspath(path)))
        self.unpacked, self.batch, self.sizes_of, self.budget = None, None, None, Budget()
        try:
            self.open(path)
        except BaseException:
            self.close()
            raise

    AT_ONCE = 400
    CAREFUL = ["-c", "safe.directory=*", "-c", "protocol.allow=never", "-c", "core.fsmonitor=false", "-c", "core.commitGraph=false",
               "-c", "core.packedGitWindowSize=16m", "-c", "core.packedGitLimit=64m", "-c", "core.deltaBaseCacheLimit=16m",
               "-c", "core.bigFileThreshold=1m", "-c", "pack.threads=1", "-c", "core.multiPackIndex=false"]

    def open(self, path):
        if os.path.isfile(path):
            self.budget.bytes = os.path.getsize(path)
            self.unpacked = tempfile.mkdtemp(prefix="gently-verify-")
            target = os.path.join(self.unpacked, "ledger.git")
            self.run("clone", "--quiet", "--mirror", "--template=", "--", os.path.abspath(path), target)
            path = target
        if not os.path.isdir(path):
            raise CannotLook("no repository or bundle at %s" % path)
        folders = [os.path.abspath(path), os.path.join(os.path.abspath(path), ".git")]
        self.folder = next((folder for folder in folders if is_repository(folder)), None)
        if self.folder is None:
            raise CannotLook("%s is no repository: there are no folders 'objects' and 'refs' beside a HEAD, here or in .git (of a "
                             "linked worktree or a submodule, give the repository's own folder)" % path)
        for name in ("shallow", "info/grafts"):
            if os.path.lexists(os.path.join(self.folder, name)):
                raise CannotLook("%s/%s: a part of a history can't be judged; make a whole clone: git clone --mirror" % (
                    self.folder, name))
        open_regular(os.path.join(self.folder, "HEAD")).close()
        a_folder(os.path.join(self.folder, "objects"))
        for objects in object_folders(os.path.join(self.folder, "objects")):
            self.survey(objects)
        self.base = ["git", *self.CAREFUL, "--git-dir=" + self.beside()]

    def survey(self, objects):
        """How much there is to read."""
        a_folder(os.path.join(objects, "pack"))
        for folder in os.scandir(objects):
            if not folder.is_dir(follow_symlinks=False) or folder.name != "pack" and not re.match(r"[0-9a-f]{2}\Z", folder.name):
                continue
            for entry in os.scandir(folder.path):
                if entry.is_file(follow_symlinks=False):
                    try:
                        size = entry.stat(follow_symlinks=False).st_size
                    except FileNotFoundError:
                        continue  # a writer's own, gone meanwhile
                    self.budget.bytes += size
                    self.budget.size_of_indexes += size if entry.name.endswith(".idx") else 0

    def beside(self):
        """A repository with the objects of the one to be checked, and a configuration of its own: what is handed
        over with a ledger can neither stop git nor have it run anything."""
        config, kind = os.path.join(self.folder, "config"), ""
        if regular(config) and os.path.getsize(config) < 1 << 20:
            kind = subprocess.run(["git", "config", "--file", config, "--no-includes", "--get", "extensions.objectformat"],
                                  env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                  check=False).stdout.decode(errors="replace").strip()
        if kind not in ("", "sha1"):
            raise CannotLook("a ledger has SHA-1 object names; this repository has %s" % kind)
        self.unpacked = self.unpacked or tempfile.mkdtemp(prefix="gently-verify-")
        beside = os.path.join(self.unpacked, "beside.git")
        os.makedirs(os.path.join(beside, "refs"))
        with open(os.path.join(beside, "HEAD"), "w", encoding="ascii") as file:
            file.write("ref: refs/heads/main\n")
        os.symlink(os.path.join(self.folder, "objects"), os.path.join(beside, "objects"))
        return beside

    def run(self, *args):
        try:
            done = subprocess.run(["git", *self.CAREFUL, "-c", "protocol.file.allow=always", *args], env=self.env,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                                  preexec_fn=self.budget.limit_child)
        except OSError as error:
            raise CannotLook("git does not run (%s); install git" % error) from None
        if done.returncode:
            raise CannotLook("git %s: %s" % (next(arg for arg in args if arg.isalpha()), done.stderr.decode(errors="replace").strip()))
        return done

    def refs(self):
        """{name: the bytes of its file, or None when it is no regular file} of the refs that a ledger has, how many
        others there are, and the lines of packed-refs that are none. Never asks git: it would follow links."""
        found, others, top = {}, 0, len(self.folder) + 1
        folders = [os.path.join(self.folder, "refs")]
        while folders:
            folder = folders.pop()
            if not a_folder(folder):
                continue
            for entry in os.scandir(folder):
                name = entry.path[top:]
                if name in ("refs/heads", "refs/notes", "refs/remotes", "refs/remotes/origin") or entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                elif OURS.match(name) or ORIGIN_REF.match(name):
                    try:
                        with open_regular(entry.path) as file:
                            found[name] = file.read(4096)
                    except (CannotLook, FileNotFoundError):
                        found[name] = None
                elif not name.endswith(".lock"):
                    others += 1
        packed, bad, path = {}, [], os.path.join(self.folder, "packed-refs")
        if os.path.lexists(path):
            with open_regular(path) as file:
                if os.fstat(file.fileno()).st_size > MAX_PACKED_REFS:
                    raise CannotLook("%s has more than %d bytes" % (path, MAX_PACKED_REFS))
                for row in file:
                    oid, _, name = row.partition(b" ")
                    if row[:1] in b"#^":
                        continue
                    name = name.rstrip(b"\n").decode("utf-8", "replace")
                    if not re.match(rb"[0-9a-fA-F]{40}\Z", oid) or not name.startswith("refs/"):
                        bad.append(row[:100].decode("utf-8", "replace"))
                    elif not (OURS.match(name) or ORIGIN_REF.match(name)):
                        others += 1
                    else:
                        # Named twice, it has no spelling that anybody can rely on.
                        packed[name] = b"twice in packed-refs" if name in packed else oid + b"\n"
        for name, written in packed.items():
            found.setdefault(name, written)
        # A plain clone keeps what it cloned under refs/remotes/origin, and its own branches beside.
        plain = os.path.basename(self.folder) == ".git" and "refs/remotes/origin/main" in found
        own = {}
        for name, written in found.items():
            origin = ORIGIN_REF.match(name)
            if origin and plain:
                own["refs/heads/" + origin.group(1)] = written
            elif origin or plain and name.startswith("refs/heads/"):
                others += 1
            else:
                own[name] = written
        return own, others, bad, plain

    def ask(self, kind):
        return subprocess.Popen(self.base + ["cat-file", kind], env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, preexec_fn=self.budget.limit_child)

    def read_many(self, wanted):
        """The objects of [(name, kind, most bytes)]: their bytes, or a sentence that says what is wrong. What kind of
        object it is, and how large, is asked before anything of it is inflated."""
        self.budget.check(self.folder)
        if len(wanted) > self.AT_ONCE:
            # More would fill both pipes, and each side wait for the other.
            return self.read_many(wanted[:self.AT_ONCE]) + self.read_many(wanted[self.AT_ONCE:])
        refused = self.refusals(wanted)
        left = [want for want, why in zip(wanted, refused) if why is None]
        contents = iter(self.contents(left))
        return [next(contents) if why is None else why for why in refused]

    def refusals(self, wanted):
        if not wanted:
            return []
        for attempt in (1, 2):
            if self.sizes_of is None:
                self.sizes_of = self.ask("--batch-check")
            try:
                self.sizes_of.stdin.write("".join(name + "\n" for name, _, _ in wanted).encode())
                self.sizes_of.stdin.flush()
                return [self.refusal(*want) for want in wanted]
            except (OSError, EOFError):
                self.close_batch()
                if len(wanted) == 1:
                    return ["the object is damaged: git can't read it"]
                if attempt == 1:
                    return [self.refusals([want])[0] for want in wanted]
        return []

    def refusal(self, name, kind, most):
        head = self.sizes_of.stdout.readline()
        if not head.endswith(b"\n"):
            raise EOFError
        words = head.decode("utf-8", "replace").split()
        if len(words) != 3:
            return "the object is missing"
        if words[1] != kind:
            return "the object is a %s, not a %s" % (words[1], kind)
        return None if int(words[2]) <= most else "the %s has %s bytes; a reader takes %d" % (kind, words[2], most)

    def contents(self, wanted):
        if not wanted:
            return []
        for attempt in (1, 2):
            if self.batch is None:
                self.batch = self.ask("--batch")
            try:
                self.batch.stdin.write("".join(name + "\n" for name, _, _ in wanted).encode())
                self.batch.stdin.flush()
                return [self.answer(*want) for want in wanted]
            except (OSError, EOFError):
                # git ends itself over a damaged object: find which, one at a time.
                self.budget.check(self.folder)
                self.close_batch()
                if len(wanted) == 1:
                    return ["the object is damaged: git can't read it"]
                if attempt == 1:
                    return [self.contents([want])[0] for want in wanted]
        return []

    def answer(self, name, kind, most):
        pipe = self.batch.stdout
        head = pipe.readline()
        if not head.endswith(b"\n"):
            raise EOFError
        words = head.decode("utf-8", "replace").split()
        if len(words) != 3:
            return "the object is missing"
        size = int(words[2])
        raw = pipe.read(size) if size <= most else b""
        if len(raw) != size or pipe.read(1) != b"\n":
            raise EOFError
        named = hashlib.sha1(("%s %d\0" % (words[1], size)).encode() + raw).hexdigest()
        if named != name:
            return "the object's content has another name: " + named
        return raw if words[1] == kind else "the object is a %s, not a %s" % (words[1], kind)

    def read(self, name, kind, most):
        return self.read_many([(name, kind, most)])[0]

    def close_batch(self):
        for process in (self.batch, self.sizes_of):
            if process is not None:
                process.kill()
                process.communicate()
        self.batch = self.sizes_of = None

    def close(self):
        self.close_batch()
        if self.unpacked:
            shutil.rmtree(self.unpacked, ignore_errors=True)


HEAD = re.compile(
    rb"tree ([0-9a-f]{40})\n((?:parent [0-9a-f]{40}\n)*)"
    rb"author gently <ledger@gently\.invalid> (0|[1-9][0-9]{0,11}) \+0000\n"
    rb"committer gently <ledger@gently\.invalid> (0|[1-9][0-9]{0,11}) \+0000\n"
    rb"(gpgsig -----BEGIN SSH SIGNATURE-----\n((?: [A-Za-z0-9+/=]+\n)+) -----END SSH SIGNATURE-----\n)"
    rb"\n(.*)\Z", re.DOTALL)
# What any commit begins with, however the rest of it is spelled: no parent is passed over, and there are at most 16.
START = re.compile(rb"tree ([0-9a-f]{40})\n((?:parent [0-9a-f]{40}\n){0,16})(?!parent )")
SUBJECT = re.compile(rb"(genesis|session_start|session_end|close|checkpoint|key_rotate)(?=[:\n]|\Z)|(interaction)-")


class Node:
    """What is kept of a commit between the walk and its check."""
    __slots__ = ("parents", "log", "kind")

    def __init__(self, raw):
        self.parents = tuple(sys.intern(line[7:].decode()) for line in START.match(raw).group(2).splitlines())
        message = raw.partition(b"\n\n")[2]
        logs = re.findall(rb"^Log: (.*)$", message, re.MULTILINE)
        self.log = logs[0].decode() if len(logs) == 1 and re.match(rb"[0-9a-f]{64}\Z", logs[0]) else None
        subject = SUBJECT.match(message)
        self.kind = (subject.group(1) or subject.group(2)).decode() if subject else None


# ---------------------------------------------------------------- the log

CODE = re.compile(r"[a-z0-9_.]+\Z")


def is_branch(text):
    return re.match(r"branch-[1-7]\Z", text) is not None


def log_hash(text):
    return HEX64.match(text) is not None


def number(least=0, most=MAX_NUMBER):
    return lambda text: read_number(text, most, least) is not None


def code(text):
    return CODE.match(text) is not None


def anything(text):
    return text != ""


HEIGHT, SEQ = number(0, MAX_HEIGHT), number(1)
EVENTS = {
    "genesis": [("record", log_hash)],
    "session_start": [("btc", HEIGHT), ("branch", is_branch), ("block", log_hash), ("auth", log_hash), ("record", log_hash)],
    "branch_create": [("branch", is_branch)],
    "branch_switch": [("from", is_branch), ("to", is_branch)],
    "auth_ok": [("auth", lambda t: re.match(r"[0-9a-f]{16}\Z", t) is not None)],
    "auth_fail": [("reason", code), ("count", number(1))],
    "prompt": [("hash", log_hash), ("seq", SEQ)],
    "response": [("hash", log_hash), ("seq", SEQ), ("model", anything), ("chain", log_hash), ("record", log_hash)],
    "response_fail": [("seq", SEQ), ("model", anything), ("reason", code), ("exchange", log_hash)],
    "denied": [("seq", SEQ), ("reason", code), ("exchange", log_hash)],
    "btc_anchor": [("btc", HEIGHT), ("block", log_hash), ("header", lambda t: re.match(r"[0-9a-f]{160}\Z", t) is not None)],
    "drift": [("class", lambda t: t in ("authority", "evidence", "tone", "schema", "completeness")), ("severity", code),
              ("seq", SEQ), ("id", anything)],
    "artifact": [("kind", code), ("id", anything), ("hash", log_hash)],
    "session_end": [("btc", HEIGHT), ("interactions", number(0)), ("block", log_hash), ("close", log_hash), ("record", log_hash)],
    "checkpoint": [("record", log_hash)],
    "key_rotate": [("record", log_hash)],
    "recover": [("applied", number(1))],
    "clock_set": [("to", lambda t: read_time(t) is not None)],
}
NEVER_IN_SESSION = ("genesis", "checkpoint", "key_rotate", "recover", "clock_set")
EITHER = ("auth_fail", "artifact")
KIND_OF = {"genesis": "genesis", "session_start": "session_start", "response": "interaction", "session_end": "session_end",
           "checkpoint": "checkpoint", "key_rotate": "key_rotate"}
PLAIN = re.compile(rb"(?:[ -$&-+\--{}~]|%[0-9A-F]{2})+\Z")


def read_value(raw):
    """The text of a value in DETAILS. ValueError when a writer would not have written it."""
    if not PLAIN.match(raw):
        raise ValueError("value %r is not spelled as a writer would" % raw[:60])
    if b"%" not in raw:
        return raw.decode("ascii")
    parts = raw.split(b"%")
    out = [parts[0]]
    for part in parts[1:]:
        byte = int(part[:2], 16)
        if 0x20 <= byte <= 0x7e and byte not in b"%|,":
            raise ValueError("the byte %02X needs no escape" % byte)
        out.append(bytes([byte]) + part[2:])
    return b"".join(out).decode("utf-8")


class Line:
    """One parsed line. ValueError when its form is wrong."""
    __slots__ = ("number", "place", "hash", "height", "time", "stamp", "event", "session", "details", "prev")

    def __init__(self, raw, number_, place, prev):
        self.number, self.place, self.prev = number_, place, prev
        if len(raw) > MAX_LINE:
            raise ValueError("%d bytes, and %d is the most" % (len(raw), MAX_LINE))
        parts = raw.split(b"|")
        if len(parts) != 6:
            raise ValueError("%d fields" % len(parts))
        try:
            self.hash, height, self.stamp, self.event, session = (p.decode("ascii") for p in parts[:5])
        except UnicodeDecodeError:
            raise ValueError("bytes outside ASCII") from None
        if not HEX64.match(self.hash):
            raise ValueError("HASH %r" % self.hash[:80])
        self.height, self.time = read_number(height, MAX_HEIGHT), read_time(self.stamp)
        if self.height is None:
            raise ValueError("BTC_HEIGHT %r" % height[:80])
        if self.time is None:
            raise ValueError("TIMESTAMP %r" % self.stamp[:80])
        if not re.match(r"[a-z0-9_]+\Z", self.event):
            raise ValueError("EVENT_TYPE %r" % self.event[:80])
        if session != "-" and not HEX64.match(session):
            raise ValueError("SESSION_ID %r" % session[:80])
        self.session = None if session == "-" else session
        self.details = self.read_details(parts[5])
        self.check_event()

    @staticmethod
    def read_details(raw):
        details = {}
        for pair in [] if raw == b"-" else raw.split(b","):
            key, colon, value = pair.partition(b":")
            if not colon or not re.match(rb"[a-z_]+\Z", key):
                raise ValueError("DETAILS hold %r" % pair[:60])
            key = key.decode("ascii")
            if key in details:
                raise ValueError("key '%s' stands twice" % key)
            details[key] = read_value(value)
        return details

    def check_event(self):
        form = EVENTS.get(self.event)
        if form is None:
            return
        if list(self.details) != [key for key, _ in form]:
            raise ValueError("%s has the keys %s" % (self.event, ",".join(self.details) or "-"))
        for key, good in form:
            if not good(self.details[key]):
                raise ValueError("%s:%s in a %s line" % (key, self.details[key][:80], self.event))
        if self.event in NEVER_IN_SESSION and self.session or (
                self.event not in NEVER_IN_SESSION + EITHER and not self.session):
            raise ValueError("SESSION_ID %s of a %s line" % (self.session or "-", self.event))

    def int(self, key):
        return int(self.details[key])


class TreeHash:
    """RFC 6962's root over the lines so far."""

    def __init__(self):
        self.size, self.stack = 0, []

    def add(self, line):
        node, n = sha256(b"\0" + line).digest(), self.size
        while n & 1:
            node, n = sha256(b"\1" + self.stack.pop() + node).digest(), n >> 1
        self.stack.append(node)
        self.size += 1

    def root(self):
        if not self.stack:
            return sha256(b"").digest()
        node = self.stack[-1]
        for left in reversed(self.stack[:-1]):
            node = sha256(b"\1" + left + node).digest()
        return node


class Session:
    __slots__ = ("id", "branch", "height", "auth", "final", "prompts", "asked", "open_prompts", "answered", "answers", "drift_due",
                 "start_place")

    def __init__(self, id_, branch, height, auth, place):
        self.id, self.branch, self.height, self.auth, self.start_place = id_, branch, height, auth, place
        self.final, self.prompts, self.answers = None, 0, 0
        self.asked = set()              # each seq that had a prompt or an outcome
        self.open_prompts = {}          # seq: (commitment, time)
        self.answered = {}              # seq: classes of drift its record names, None when it can't be read
        self.drift_due = {}             # (seq, class): place of the record


# ---------------------------------------------------------------- the checks

class Check:
    def __init__(self, git, log, pinned, every_signature, policy=None, heads=(), chain=None, checkpoint=None, named_network=None):
        self.git, self.log_path, self.pinned, self.chain_path = git, log, pinned, chain
        self.named_network = named_network
        # The tree head beside the log, and what it covers: its parts, or None.
        self.checkpoint_path, self.checkpoint_raw, self.checkpoint = checkpoint, None, None
        # Lines that nobody signed: how many, the first's number, whether a torn one ends them.
        self.signed_line, self.unsigned, self.newer, self.log_size = 0, 0, False, 0
        # Where the log is not at hand, what is said of commits behind the last segment counts for *consistent* alone.
        self.apart = False
        # Commits that are missing for the last line with a record, until another line than its own follows.
        self.missing, self.missing_of = [], None
        self.times, self.clock_sets, self.heights, self.cheap, self.unproven = array.array("Q"), [], {}, [], []
        self.foreign_refs, self.plain, self.witnessed_line = 0, False, (0, None)
        self.commits_apart, self.last_time, self.seen_notes, self.late = 0, 0, set(), []
        # OpenTimestamps: heads that a block attests, that one may attest, that wait for one
        self.chain, self.attested, self.unattested, self.pending, self.uncomputed = {}, [], [], 0, 0
        self.named, self.proven, self.orphaned = {}, 0, 0
        # Brackets: blocks and ends of sessions in the order of their starts, and lines that name a higher block.
        self.start_blocks, self.end_lines, self.rises, self.noted_first = {}, {}, [], None
        self.findings, self.counts = [], dict.fromkeys(QUESTIONS, 0)
        self.ed25519, self.every_signature = None, every_signature
        # Tree heads outside: of notes, by commit, and of files; root and time of the log at their sizes.
        self.policy, self.heads, self.cosigned_notes, self.sizes = policy, heads, [], {}
        self.covered, self.cosigners_of = 0, []
        self.epochs = read_epochs()
        self.nodes, self.refs, self.main, self.by_log, self.closes = {}, {}, [], {}, {}
        self.claimed, self.commits, self.tree_heads, self.notes = set(), {}, [], []
        # the log
        self.number, self.head, self.time, self.highest, self.records = 0, GENESIS, 0, 0, set()
        self.record_lines = {}
        self.tree, self.sessions, self.ended, self.branches = TreeHash(), {}, set(), set()
        self.last_branch, self.due, self.last_prompt, self.blocks = None, [], None, {}
        self.in_segments = 0
        # the ledger
        self.genesis, self.network, self.origin, self.signers, self.key_unknown = None, None, None, [], False
        self.key, self.first_key, self.next_key, self.allowed = None, None, None, b""
        self.main_tip, self.main_count, self.tips, self.reach = None, 0, {}, {}
        self.positions, self.newest, self.rotated_to, self.of_branches = {}, None, {}, None
        # headers and signatures
        self.headers, self.anchors, self.local_starts, self.headless = 0, 0, 0, []
        # What could not be looked at: starts, ends and anchors; signatures.
        self.unseen_headers, self.unseen_signatures = 0, 0
        self.signed, self.sample, self.last_signed, self.asked, self.remarks = 0, [], None, 0, []
        # What somebody kept; and the keys, each with the number of the line behind which it is in force.
        self.receipts, self.keys_by_line = [], []
        self.contradicted_by = set()  # receipts and tree heads that the checker brought, and that say otherwise

    # ---- findings

    def find(self, question, place, expected, actual):
        for one in question.split("+"):
            if self.apart and one != "consistent":
                continue
            self.counts[one] += 1
            if len(self.findings) < FINDINGS_SHOWN:
                self.findings.append({"question": one, "place": place, "expected": str(expected), "actual": str(actual)})

    def same(self, place, what, expected, actual, question="consistent"):
        if expected == actual:
            return True
        self.find(question, place, "%s %s" % (what, expected), "%s %s" % (what, actual))
        return False

    # ---- refs and commits

    def run(self):
        if self.git is None:
            self.run_log_alone()
            return
        # A writer appends lines, replaces the tree head beside them, and moves refs: in this order it is read here, so
        # that every line that a tree head or a ref is about is there.
        file = open_regular(self.log_path) if self.log_path else None
        if self.checkpoint_path and os.path.lexists(self.checkpoint_path):
            with open_regular(self.checkpoint_path) as held:
                self.checkpoint_raw = held.read(MAX_HEAD + 1)
        self.read_refs()
        self.log_size = os.fstat(file.fileno()).st_size if file else 0
        self.git.budget.bytes += self.log_size
        for oid in list(self.refs.values()):
            self.walk(oid)
        if not self.nodes:
            raise CannotLook("nothing to check: no commit of a ledger can be read at %s" % self.git.folder)
        self.index()
        self.read_genesis()
        self.read_witness_notes()
        if self.checkpoint_raw is not None:
            self.checkpoint = read_note(self.checkpoint_raw) if len(self.checkpoint_raw) <= MAX_HEAD else None
            if self.checkpoint is None:
                self.find("consistent", "audit.checkpoint", "a signed note with one signature",
                          self.checkpoint_raw[:300].decode("utf-8", "replace"))
            else:
                self.sizes.setdefault(self.checkpoint[2], None)
                self.keep_size()
        for item in self.lines(file):
            if isinstance(item, str):
                self.end_of_segment(item)
            else:
                self.take(*item)
        self.finish()
        if file:
            file.close()

    def run_log_alone(self):
        with open_regular(self.log_path) as file:
            for item in self.file_lines(file, os.fstat(file.fileno()).st_size):
                self.take(*item)
        if self.number == 0 and not any(self.counts.values()):
            raise CannotLook("nothing to check: %s is empty" % self.log_path)
        self.finish_log()

    def read_refs(self):
        found, self.foreign_refs, bad, self.plain = self.git.refs()
        for row in bad:
            self.find("consistent", "packed-refs", "a commit's id and a ref's name", row)
        for name, written in sorted(found.items()):
            if written is None:
                self.find("consistent", name, "a regular file", "a link, a pipe or a device")
            elif written.startswith(b"ref:"):
                self.find("consistent", name, "a ref to a commit", "a symbolic ref to " + written[4:100].decode("utf-8", "replace").strip())
            elif not re.match(rb"[0-9a-f]{40}\n\Z", written):
                self.find("consistent", name, "a commit's id and a newline", written[:100].decode("utf-8", "replace"))
            elif name.startswith("refs/heads/"):
                self.refs[name[11:]] = written[:40].decode()
            else:
                self.notes.append((name, written[:40].decode()))
        if "main" not in self.refs:
            self.find("consistent", "refs/heads/main", "the ref", "it is missing")

    def walk(self, tip):
        todo = [tip]
        while todo:
            wanted = []
            for oid in todo[:self.git.AT_ONCE]:
                if oid not in self.nodes:
                    self.nodes[oid] = None
                    wanted.append((oid, "commit", MAX_COMMIT))
            todo = todo[self.git.AT_ONCE:]
            for (oid, _, _), raw in zip(wanted, self.git.read_many(wanted) if wanted else []):
                if isinstance(raw, bytes) and not START.match(raw):
                    raw = "another object, called a commit"
                if isinstance(raw, str):
                    self.find("consistent", "commit " + oid, "a commit", raw)
                    # It may be a start, and may be signed by anybody.
                    self.unseen_headers += 1
                    self.unseen_signatures += 1
                    del self.nodes[oid]
                    continue
                node = self.nodes[oid] = Node(raw)
                todo.extend(p for p in node.parents if p not in self.nodes)

    def index(self):
        for oid, node in self.nodes.items():
            self.commits[node.kind] = self.commits.get(node.kind, 0) + 1
            if node.log is None or node.kind is None:
                self.find("consistent", "commit " + oid, "a subject and a Log trailer of section 6", "neither or one")
            elif node.kind == "close":
                self.closes.setdefault(node.log, []).append(oid)
            else:
                self.by_log.setdefault(node.log, []).append(oid)
        oid, seen = self.refs.get("main"), set()
        while oid in self.nodes and oid not in seen:
            seen.add(oid)
            self.main.append(oid)
            oid = self.nodes[oid].parents[0] if self.nodes[oid].parents else None
        self.main.reverse()
        self.positions = {oid: n for n, oid in enumerate(self.main)}

    def key_of(self, oid):
        """The key in force at a commit's line. When that is not known, on main that of the last rotation before it;
        elsewhere the newest there is, as an honest commit without a line in main stands behind all that main holds."""
        newest, line = self.newest_key(), self.record_lines.get(self.nodes[oid].log)
        if self.first_key is not None and line is not None:
            return self.in_force(line)
        if self.first_key is None or oid not in self.positions:
            return newest
        key = self.first_key
        for rotation in self.main[1:self.positions[oid]]:
            key = self.rotated_to.get(rotation, key)
        return key

    def newest_key(self):
        """The newest key in main: under it stand commits whose line is not known."""
        if self.first_key is None:
            return None
        if self.newest is None:
            self.newest, self.rotated_to = self.first_key, {}
            for oid in self.main[1:]:
                if self.nodes[oid].kind == "key_rotate" and spelled(self.git.read(oid, "commit", MAX_COMMIT))[0]:
                    document = self.read_document(oid, "rotate.json")
                    if fields(document, DOCUMENTS["rotate.json"]) is None:
                        self.newest = self.rotated_to[oid] = read_key(document["new_signer"])
        return self.newest

    def read_document(self, oid, name):
        """The value of a commit's canonical document, or None."""
        raw = self.git.read(oid, "commit", MAX_COMMIT)
        files = self.read_tree(raw[5:45].decode(), None) if isinstance(raw, bytes) else None
        blob = self.git.read(files[name], "blob", MAX_DOCUMENT) if files and name in files else None
        try:
            return read_json(blob) if isinstance(blob, bytes) else None
        except ValueError:
            return None

    def place(self, oid, file=None):
        node = self.nodes.get(oid)
        kind = " (%s)" % node.kind if node and node.kind else ""
        return "commit %s%s%s" % (oid, kind, ", file " + file if file else "")

    def read_tree(self, oid, place):
        """{name: object} of a tree; reports what a writer would not have written, at a place."""
        raw = self.git.read(oid, "tree", MAX_TREE)
        if isinstance(raw, str):
            if place:
                self.find("consistent", place + ", tree " + oid, "a tree", raw)
            return None
        entries = read_entries(raw)
        if entries is None:
            if place:
                self.find("consistent", place, "a whole tree", "it breaks off")
            return None
        files, names = {}, [name for _, name, _ in entries]
        for mode, name, child in entries:
            if mode == "100644":
                files[name] = child
            elif place:
                self.find("consistent", "%s, file %s" % (place, name), "mode 100644", "mode " + mode)
        if place and names != sorted(set(names)):
            self.find("consistent", place, "files in order, each once", ", ".join(names))
        return files

    def read_genesis(self):
        root = self.main[0] if self.main else None
        node = self.nodes.get(root)
        if node is None or node.kind != "genesis":
            self.find("consistent", "refs/heads/main", "a root commit of kind genesis", self.place(root))
            self.key_unknown = True
            return
        # A document in another form is none; what a good one says is judged where its commit is.
        document = self.read_document(root, "genesis.json")
        form = {**DOCUMENTS["genesis.json"], "genesis": is_hash, "origin": is_text}
        self.key_unknown = fields(document, form) is not None
        if self.key_unknown:
            return
        self.genesis, self.network, self.origin = document["genesis"], document["network"], document["origin"]
        self.key = self.first_key = read_key(document["signer"])
        self.keys_by_line.append((0, self.key))
        self.signers.append(document["signer"])

    # ---- lines of the log

    def lines(self, file):
        """Yields (line, place), and a commit of main after its segment's last line."""
        state = "as main" if file else "none"
        for oid in self.main[1:]:
            raw = self.read_segment(oid)
            segment = raw[:raw.rfind(b"\n") + 1]
            if state == "as main":
                held = file.read(len(segment))
                if held != segment:
                    state = self.compare(held, segment)
            if raw != segment or not raw:
                self.find("consistent", self.place(oid, "audit.log"), "whole lines, at least one", "%d bytes behind the last" % (
                    len(raw) - len(segment)))
            for line in segment.split(b"\n")[:-1]:
                yield line, "log line %d (segment of commit %s)" % (self.number + 1, oid)
            self.in_segments = self.number
            yield oid
        if state == "differs":
            # The file's newer lines stand behind the last line that main holds, wherever the file has that.
            file.seek(0)
            state = "as main" if self.pass_to(file, self.head.encode()) else "ended"
            if state == "ended":
                self.find("complete", "audit.log", "the line %s, the last that main holds" % self.head, "no such line")
        if state == "as main":
            yield from self.tail(file)
        if file is None or state != "as main":
            self.signed_line = self.number

    def in_force(self, size):
        """The key in force at the last of so many lines: a rotation's own line is the old key's."""
        return next((key for behind, key in reversed(self.keys_by_line) if behind < size), self.first_key)

    def tail(self, file):
        """The lines behind the last segment as far as anybody signed them."""
        start, first = file.tell(), self.number + 1
        covered, here, torn, lines_at = self.number, self.number, False, {}
        if self.checkpoint and self.checkpoint[2] > here and self.first_key:
            text, origin, size, _, ident, signature = self.checkpoint
            key = self.newest_key()
            if origin == self.origin and ident == key_id(origin, LOG_KEY, key) and self.holds(key, text, signature):
                covered = size
        # What of it a commit names, by the first line that claims its HASH; read in pieces, as nobody signed it yet.
        left, rest, at, dropped = self.log_size - start, b"", start, 0
        while left > 0:
            piece = file.read(min(left, 1 << 20))
            if not piece:
                break
            left -= len(piece)
            piece = rest + piece
            whole = piece.rfind(b"\n") + 1
            if whole:
                at, dropped = at + dropped, 0
            # Of a line that is longer than any may be, the beginning is enough.
            rest = piece[whole:whole + MAX_LINE + 1]
            dropped += len(piece) - whole - len(rest)
            if dropped > MAX_SEGMENT:
                raise CannotLook("%s: no line ends within %d bytes: this is no log" % (self.log_path, dropped))
            counted = 0
            for match in re.finditer(rb"(?:\A|(?<=\n))([0-9a-f]{64})\|", piece[:whole]):
                here += piece.count(b"\n", counted, match.start())
                counted = match.start()
                name = match.group(1).decode()
                if name not in self.record_lines and (name in self.by_log or name in self.closes) and name not in lines_at:
                    lines_at[name] = covered_by = here + 1
                    covered = max(covered, covered_by)
            here += piece.count(b"\n", counted, whole)
            at += whole
            self.git.budget.check(self.log_path)
        torn = bool(rest)
        if covered > here:
            # The tree head is of more lines than there are: those behind the last commit's can't be held against it.
            covered = max([self.in_segments] + list(lines_at.values()))
        if (covered - self.number) * SHORTEST_LINE > at - start + 1000 * SHORTEST_LINE:
            raise CannotLook("%s: %d lines in %d bytes are no log" % (self.log_path, covered - self.number, at - start))
        self.signed_line, self.unsigned = covered, here - covered
        file.seek(start)
        for line, place in self.file_lines(file, at - start):
            if self.number >= covered:
                break
            yield line, place
        if torn:
            self.find("complete", "audit.log line %d" % (here + 1), "a newline at the end", "a torn line of %d bytes" % (len(rest) + dropped))

    @staticmethod
    def pass_to(file, start):
        """Goes behind the first line that begins so; False when there is none."""
        while line := file.readline(MAX_LINE + 2):
            found, begun = line.startswith(start), file.tell()
            while line and not line.endswith(b"\n"):
                line = file.readline(MAX_LINE + 2)
                if file.tell() - begun > MAX_SEGMENT:
                    raise CannotLook("the log: no line ends within %d bytes: this is no log" % MAX_SEGMENT)
            if found and line:
                return True
        return False

    def compare(self, held, segment):
        """Reports how the file's bytes differ from the segment's."""
        n = next((i for i, (a, b) in enumerate(zip(held, segment)) if a != b), len(held))
        place = "audit.log line %d" % (self.number + 1 + segment[:n].count(b"\n"))
        if n == len(held):
            self.find("complete", place, "the lines that main holds, and newer ones", "the end of the file")
            return "ended"
        self.find("consistent", place, "the line that the segment in main has",
                  held[held.rfind(b"\n", 0, n) + 1:].split(b"\n")[0][:200].decode("utf-8", "replace"))
        return "differs"

    def file_lines(self, file, left):
        while left > 0:
            line = file.readline(min(left, MAX_LINE + 2))
            left -= len(line)
            place = "audit.log line %d" % (self.number + 1)
            if line.endswith(b"\n"):
                yield line[:-1], place
            elif len(line) == MAX_LINE + 2:
                first = line
                while left > 0 and not line.endswith(b"\n"):
                    line = file.readline(min(left, MAX_LINE + 2))
                    left -= len(line)
                yield first, place
            else:
                self.find("complete", place, "a newline at the end", "a torn line of %d bytes" % len(line))
                return

    def read_segment(self, oid):
        place, raw = self.place(oid), self.git.read(oid, "commit", MAX_COMMIT)
        files = self.read_tree(raw[5:45].decode(), place) if isinstance(raw, bytes) else None
        segment = "none"
        if files and "audit.log" in files:
            segment = self.git.read(files["audit.log"], "blob", MAX_SEGMENT)
        if isinstance(segment, str):
            self.find("consistent", place + ", file audit.log", "the segment", segment)
            # There may be anchors in it.
            self.unseen_headers += 1
            return b""
        newlines = segment.count(b"\n")
        if newlines * SHORTEST_LINE > len(segment):
            # Each would be a finding; all together they are one, and none is taken.
            self.find("consistent", place + ", file audit.log", "lines, of at least %d bytes each" % SHORTEST_LINE,
                      "%d newlines in %d bytes" % (newlines, len(segment)))
            self.unseen_headers += 1
            return b""
        return segment

    def end_of_segment(self, oid):
        place, node = self.place(oid), self.nodes[oid]
        self.same(place + ", file audit.log", "last line", node.log, self.head)
        raw = self.git.read(oid, "commit", MAX_COMMIT)
        files = self.read_tree(raw[5:45].decode(), place) or {}
        note = self.git.read(files["checkpoint"], "blob", MAX_HEAD) if "checkpoint" in files else "it is missing"
        place += ", file checkpoint"
        if isinstance(note, str):
            self.find("consistent", place, "a tree head", note)
            self.unseen_signatures += 1
            return
        root = self.tree.root()
        self.tree_heads.append({"size": self.tree.size, "root": root.hex()})
        parsed = read_note(note)
        if parsed is None:
            self.find("consistent", place, "a signed note with one signature", note[:300].decode("utf-8", "replace"))
            self.unseen_signatures += 1
            return
        text, origin, size, its_root, key_id, signature = parsed
        self.same(place, "size", self.tree.size, size)
        self.same(place, "root", root.hex(), its_root.hex())
        if self.key is None:
            return
        self.same(place, "origin", self.origin, origin)
        key = self.key_of(oid)
        if key_id != sha256(origin.encode() + b"\n\x01" + key).digest()[:4] or not self.holds(key, text, signature):
            self.find("consistent+signed_by", place, "a signature by " + key_text(key), "another key id, or it does not hold")

    def holds(self, key, message, signature):
        if self.ed25519 is None:
            self.ed25519 = Ed25519()
        return self.ed25519.verify(key, message, signature)

    def take(self, raw, place):
        self.take_line(raw, place)
        self.keep_size()

    def keep_size(self):
        if self.tree.size in self.sizes:
            self.sizes[self.tree.size] = (self.tree.root(), self.time)

    def take_line(self, raw, place):
        """One line: its hash, its form, what it may follow, and the commit that belongs to it."""
        if self.next_key:
            self.key, self.next_key = self.next_key, None
        self.number += 1
        if self.git and not self.number & 1023:
            self.git.budget.check("log line %d" % self.number)
        self.tree.add(raw)
        first, bar, rest = raw.partition(b"|")
        computed = hexhash(self.head.encode() + b"|" + rest)
        prev = self.head
        try:
            line = Line(raw, self.number, place, prev)
        except ValueError as error:
            self.find("consistent", place, "a line as section 4 has it", error)
            # Nobody can tell that it is no anchor.
            self.unseen_headers += 1
            self.head = first.decode() if bar and re.match(rb"[0-9a-f]{64}\Z", first) else computed
            self.same(place, "HASH", computed, first[:80].decode("utf-8", "replace"))
            self.due = []
            self.times.append(0)
            self.commits_are_missing(None)
            for receipt in self.receipts:
                receipt.take(self, None)
            return
        self.same(place, "HASH", computed, line.hash)
        self.head = line.hash
        self.check_time(line)
        self.times.append(line.time)
        self.commits_are_missing(line)
        if (self.number == 1) != (line.event == "genesis"):
            self.find("consistent", place, "genesis first, and once", "a %s line" % line.event)
        self.check_record_once(line)
        self.follow(line)
        self.last_prompt = (line.session, line.int("seq")) if line.event == "prompt" else None
        if line.height > self.highest:
            self.highest = line.height
            self.rises.append((self.number, line.height))
        for receipt in self.receipts:
            receipt.take(self, line)

    def check_time(self, line):
        if line.event == "clock_set":
            self.same(line.place, "TIMESTAMP", line.details["to"], line.stamp)
            self.clock_sets.append({"line": self.number, "to": line.details["to"], "before": stamp_text(self.time)})
        elif line.time < self.time:
            self.find("consistent", line.place, "a time not before that of the line before", line.stamp)
        self.time = line.time

    def check_record_once(self, line):
        record = line.details.get("record") if line.event in KIND_OF else None
        if record is None:
            return
        if record in self.records:
            self.find("consistent", line.place, "a record that no line before names", record)
        self.records.add(record)
        self.record_lines[line.hash] = self.number

    def follow(self, line):
        """What the lines before allow."""
        place, session = line.place, None
        due, self.due = self.due, []
        if due:
            want, values = due[0]
            session = self.sessions.get(line.session)
            if (line.event, line.session) == (want, self.last_start):
                for key, value in values.items():
                    self.same(place, key, value, line.details[key])
                self.same(place, "BTC_HEIGHT", session.height, line.height)
                self.due = due[1:]
                return
            self.find("consistent", place, "%s of session %s" % (want, self.last_start),
                      "%s of session %s" % (line.event, line.session or "-"))
        if line.event in ("branch_create", "branch_switch", "auth_ok"):
            self.find("consistent", place, "%s only where a session starts, when it is due" % line.event, "it stands here")
            return
        if line.session is None:
            self.same(place, "BTC_HEIGHT", self.highest, line.height)
        elif line.event == "session_start":
            self.start(line)
            return
        else:
            session = self.sessions.get(line.session)
            if session is None:
                what = "it has ended" if line.session in self.ended else "it never started"
                self.find("consistent", place, "a session that is open", "session %s: %s" % (line.session, what))
                if line.event in KIND_OF:
                    self.commit_of(line, None)
                return
            if line.event not in ("btc_anchor", "session_end"):
                self.same(place, "BTC_HEIGHT", session.height, line.height)
        handler = getattr(self, "on_" + line.event, None) if line.event in EVENTS else None
        if handler:
            handler(line, session)

    def commits_are_missing(self, line):
        """A crash leaves a last record without its commit, with nothing but its own lines behind: that is incomplete.
        Any other line, or None, says that the writer went on without it."""
        if line and line.session == self.missing_of and line.event in ("branch_create", "branch_switch", "auth_ok", "drift"):
            return
        for place, expected in self.missing:
            self.find("consistent", place, expected, "none")
        self.missing = []

    def check_fit(self, header, height, stamp, place):
        """Section 9: a line names no block from its own future, and on bitcoin a height and a time that belong together."""
        seconds = int.from_bytes(bytes.fromhex(header)[68:72], "little")
        if stamp is not None and stamp < seconds - AHEAD:
            self.find("consistent", place, "a line not from before its block, of " + stamp_text(seconds), stamp_text(stamp))
        if self.network == "bitcoin" and not fit(height, seconds):
            self.find("consistent", place, "a height and a time that belong together",
                      "height %d and %s" % (height, stamp_text(seconds)))

    def check_block_named(self, line):
        if line.int("btc"):
            known = self.heights.setdefault(line.details["block"], line.int("btc"))
            if known != line.int("btc"):
                self.find("consistent", line.place, "one height for block " + line.details["block"],
                          "%d, and %d before" % (line.int("btc"), known))
        self.same(line.place, "BTC_HEIGHT", line.int("btc"), line.height)
        if (line.int("btc") == 0) != (line.details["block"] == ZERO):
            self.find("consistent", line.place, "height 0 and 64 zeros together", "btc:%(btc)s,block:%(block)s" % line.details)
        self.blocks[line.int("btc")] = line.details["block"]

    def start(self, line):
        details, place = line.details, line.place
        self.check_block_named(line)
        branch, height = details["branch"], line.int("btc")
        self.same(place, "branch", "branch-%d" % (height % 7 + 1), branch)
        ident = hexhash(bytes.fromhex(details["auth"]) + details["block"].encode() + bytes.fromhex(line.prev))
        self.same(place, "SESSION_ID", ident, line.session)
        if line.session in self.sessions or line.session in self.ended:
            self.find("consistent", place, "a session that has not started before", line.session)
            return
        session = Session(line.session, branch, height, details["auth"], place)
        self.start_blocks.setdefault(line.session, None)
        session.final = bytes.fromhex(line.session)
        self.sessions[line.session] = session
        if branch not in self.branches:
            self.due.append(("branch_create", {"branch": branch}))
        elif branch != self.last_branch:
            self.due.append(("branch_switch", {"from": self.last_branch, "to": branch}))
        self.due.append(("auth_ok", {"auth": details["auth"][:16]}))
        self.branches.add(branch)
        self.last_branch, self.last_start = branch, line.session
        self.commit_of(line, session)

    def on_genesis(self, line, _session):
        self.commit_of(line, None)

    def on_prompt(self, line, session):
        seq = line.int("seq")
        self.same(line.place, "seq", session.prompts + 1, seq, "consistent+complete")
        session.prompts = max(seq, session.prompts)
        if seq in session.open_prompts or seq in session.answered:
            self.find("consistent", line.place, "a number that is new", "seq %d" % seq)
        session.asked.add(seq)
        session.open_prompts[seq] = (line.details["hash"], line.time)

    def outcome(self, line, session):
        """The prompt that a line ends, or None."""
        prompt = session.open_prompts.pop(line.int("seq"), None)
        seq = line.int("seq")
        if prompt is None:
            # A second outcome of a prompt takes nothing away.
            questions = "consistent" if seq in session.asked else "consistent+complete"
            self.find(questions, line.place, "a prompt without an outcome, with this seq, before", "%s of seq %s" % (
                line.event, seq))
        session.asked.add(seq)
        return prompt

    def directly(self, line):
        if self.last_prompt != (line.session, line.int("seq")):
            self.find("consistent", line.place, "the line of prompt %s directly before" % line.details["seq"], "another line")

    def on_response_fail(self, line, session):
        self.outcome(line, session)
        if re.match(r"compile(\Z|[._])", line.details["reason"]):
            self.directly(line)

    def on_denied(self, line, session):
        self.outcome(line, session)
        self.directly(line)

    def on_response(self, line, session):
        prompt = self.outcome(line, session)
        details = line.details
        if prompt:
            entry = chain_entry(session.final, prompt[0], details["hash"], line.time)
            self.same(line.place, "chain", entry, details["chain"])
        session.answers += 1
        session.answered[line.int("seq")] = None
        document = self.commit_of(line, session, prompt)
        session.final = bytes.fromhex(details["chain"])
        if document:
            self.note_drift(session, document, self.place(self.by_log[line.hash][0], "record.json"))

    @staticmethod
    def note_drift(session, document, place):
        flags = document["validator"]
        classes = {name for flag, name in CLASSES.items() if flags[flag]}
        if not flags["schema_ok"]:
            classes.add("schema")
        session.answered[document["seq"]] = classes
        for name in classes:
            session.drift_due[document["seq"], name] = place

    def on_drift(self, line, session):
        seq, name = line.int("seq"), line.details["class"]
        if seq not in session.answered:
            self.find("consistent", line.place, "drift of an answered seq", "seq %d" % seq)
        elif session.answered[seq] is not None and name not in session.answered[seq]:
            self.find("consistent", line.place, "a record of seq %d that says %s" % (seq, name), "it does not")
        session.drift_due.pop((seq, name), None)

    def on_btc_anchor(self, line, session):
        height = line.int("btc")
        self.check_block_named(line)
        if height <= session.height:
            self.find("consistent", line.place, "a height above the session's %d" % session.height, height)
        session.height = height
        self.check_fit(line.details["header"], height, line.time, line.place)
        self.check_header(line.details["header"], line.details["block"], height, None, line.place, session.id)

    def on_session_end(self, line, session):
        details = line.details
        self.check_block_named(line)
        self.same(line.place, "interactions", session.answers, line.int("interactions"))
        final = session.final if session.answers else bytes(32)
        close = hexhash(bytes.fromhex(session.id) + details["block"].encode() + final)
        self.same(line.place, "close", close, details["close"])
        self.commit_of(line, session)
        self.unanswered(session, line.place)
        self.missing_drift(session, "consistent")
        del self.sessions[session.id]
        self.ended.add(session.id)
        self.end_lines[session.id] = self.number

    def unanswered(self, session, place):
        for seq in session.open_prompts:
            self.find("complete", place, "an outcome of prompt %d of session %s" % (seq, session.id), "none in the log")

    def missing_drift(self, session, question):
        for (seq, name), place in session.drift_due.items():
            self.find(question, place, "a drift line of class %s with seq %d" % (name, seq), "none in the log")

    def on_checkpoint(self, line, _session):
        self.commit_of(line, None)

    def on_key_rotate(self, line, _session):
        if self.sessions:
            self.find("consistent", line.place, "no open session at a rotation", "%d open" % len(self.sessions))
        self.commit_of(line, None)

    # ---- headers

    def check_header(self, header, block_hash, height, time, place, session):
        """Section 9; True when the header is accepted."""
        faults = header_faults(header, block_hash, height, time, self.network, self.epochs)
        if self.network is None:
            # Of no network known there is no work to judge; what stands beside it is still its own, or not.
            for fault in faults:
                if fault.startswith((OTHER_BLOCK, OTHER_TIME)):
                    self.find("consistent", place, "the header of block %d" % height, fault)
            return False
        self.headers += 1
        for fault in faults:
            # The header of another block contradicts what stands beside it, too.
            self.find("consistent+not_before" if fault.startswith((OTHER_BLOCK, OTHER_TIME)) else "not_before", place,
                      "a header that shows the work of block %d of %s" % (height, self.network), fault)
        if not faults and cheap(header, self.network, self.epochs):
            self.cheap.append((session, height, block_hash))
        if faults:
            self.headless.append(session)
        else:
            self.named.setdefault((height, block_hash), (header[8:72], header[144:152], place))
        return not faults

    def check_block(self, block, files, place, session, stamp):
        """A block of a start or end, with its file btc_header."""
        if self.network is None:
            return
        header = files.get("btc_header")
        readable = isinstance(header, bytes) and re.match(rb"[0-9a-f]{160}\n\Z", header)
        if block["source"] != "local" and readable:
            self.check_fit(header[:160].decode(), block["height"], stamp, place)
        if self.apart:
            return
        if block["network"] != self.network:
            self.find("consistent+not_before", place, "network %s" % self.network, "network " + block["network"])
        if not self.check_local(block, place, "consistent+not_before"):
            return
        if not readable:
            self.headers += 1
            self.find("not_before", place, "a header of block %d" % block["height"], "none that can be read")
            if header is not None:
                self.find("consistent", place, "btc_header of 160 digits and a newline", header[:200])
            return
        good = self.check_header(header[:160].decode(), block["hash"], block["height"], block["time"], place, session)
        if good and self.network == block["network"]:
            self.anchors += 1

    def check_local(self, block, place, question="consistent"):
        """True for a block that is not local; reports one that is half so."""
        marks = {block["hash"] == ZERO, block["height"] == 0, block["source"] == "local"}
        if len(marks) == 2:
            self.find(question, place, "64 zeros, height 0 and source local together", json.dumps(block, sort_keys=True))
        return marks == {False}

    # ---- commits

    def commit_of(self, line, session, prompt=None):
        """Checks the commit of a line with a record; gives its document."""
        if self.git is None:
            return None
        found = self.by_log.get(line.hash, [])
        kind = KIND_OF[line.event]
        document = None
        if len(found) > 1 or not found and self.closes.get(line.hash):
            self.find("consistent", line.place, "one commit with this Log", "%d" % len(found))
        elif not found:
            self.missing.append((line.place, "one commit with this Log"))
            self.missing_of = line.session
        if kind in ("session_start", "session_end") and line.int("btc") and not any(
                self.nodes[oid].kind == kind for oid in found):
            self.unseen_headers += 1
        for oid in found:
            self.claimed.add(oid)
            document = self.commit(oid, kind, line, session, prompt) or document
        if kind == "session_end":
            self.close_of(line, session, found[0] if found else None)
        return document

    def parse(self, oid, place):
        """The bytes and parts of a commit as a writer spells it; of another, nothing counts but what it is called."""
        raw = self.git.read(oid, "commit", MAX_COMMIT)
        match, signed = spelled(raw)
        if match:
            return raw, match, signed
        self.find("consistent", place, "a commit in the form of section 6.1",
                  raw if isinstance(raw, str) else "it is spelled otherwise")
        if isinstance(raw, bytes) and b"\ngpgsig " not in raw.partition(b"\n\n")[0]:
            self.find("signed_by", place, "a signature by the key in force", "none")
        else:
            self.unseen_signatures += 1
        return None

    def commit(self, oid, kind, line, session, prompt):
        place, node = self.place(oid), self.nodes[oid]
        if node.kind != kind:
            self.find("consistent", place, "a commit of kind %s, as %s says" % (kind, line.place if line else "its subject"),
                      node.kind)
            self.check_only_signature(oid)
            self.unseen_headers += node.kind in ("session_start", "session_end")
            return None
        parsed = self.parse(oid, place)
        if not parsed:
            self.advance(kind, oid, session)
            self.unseen_headers += kind in ("session_start", "session_end")
            return None
        raw, match, signed = parsed
        self.signature(raw, match, signed, place, self.key if line else self.key_of(oid))
        document, blobs, record = self.read_files(match.group(1).decode(), kind, place)
        if document is None:
            self.check_dates(match, line.time if line else None, place)
            self.check_parents(kind, node.parents, session, place)
            self.advance(kind, oid, session)
            if kind in ("session_start", "session_end"):
                self.unseen_headers += 1
            return None
        doc_place = "%s, file %s" % (place, KINDS[kind][0])
        if line:
            self.same(doc_place, "SHA-256", line.details["record"], record)
            self.same(doc_place, KINDS[kind][2], line.time, document[KINDS[kind][2]])
        if session is None and line is None and kind not in ON_MAIN:
            session = self.session_of(kind, document, doc_place)
        self.check_dates(match, document[KINDS[kind][2]], place)
        getattr(self, "document_of_" + kind)(document, blobs, line, session, prompt, doc_place)
        self.check_message(match.group(7), kind, document, record, line.hash if line else node.log, place)
        self.check_parents(kind, node.parents, session, place)
        self.advance(kind, oid, session)
        return document

    def check_dates(self, match, time, place):
        if time is None:
            return
        for name, group in (("author", 3), ("committer", 4)):
            self.same(place, name + " date", time, int(match.group(group)))

    def signature(self, raw, match, signed, place, due):
        if due is None:
            return
        key, signature = signed
        expected = "a signature by the key in force, " + key_text(due)
        if key != due:
            self.find("consistent+signed_by", place, expected, "a signature by " + key_text(key))
            return
        payload = raw[:match.start(5)] + raw[match.end(5):]
        if not self.holds(due, b"SSHSIG" + SIGNED_AS + ssh_string(hashlib.sha512(payload).digest()), signature):
            self.find("consistent+signed_by", place, expected, "a signature that does not hold")
            return
        self.signed += 1
        self.last_signed = (place, due, payload, match.group(6))
        if self.every_signature or self.signed & (self.signed - 1) == 0:
            self.ask_ssh_keygen(*self.last_signed)
            self.last_signed = None

    def check_only_signature(self, oid):
        """Of a commit that belongs to no line of its kind."""
        parsed = self.parse(oid, self.place(oid))
        if parsed:
            self.signature(*parsed, self.place(oid), self.key_of(oid))

    def ask_ssh_keygen(self, place, key, payload, armor):
        self.asked += 1
        refusal = ssh_keygen_refuses(key, payload, armor)
        if refusal is not None:
            self.find("consistent+signed_by", place, "ssh-keygen accepts the signature", refusal)

    def read_files(self, tree, kind, place):
        """(document, {file: bytes}, hash of the document's bytes), with (None, …) when it can't be used."""
        name, others, _ = KINDS[kind]
        files = self.read_tree(tree, place)
        if files is None:
            return None, {}, None
        # A segment and its tree head are read where the lines of `main` are.
        wanted = [n for n in sorted(files) if n == name or n in others and n not in ("audit.log", "checkpoint")]
        blobs = dict(zip(wanted, self.git.read_many([(files[n], "blob", MAX_FILE.get(n, MAX_DOCUMENT)) for n in wanted]) if wanted else []))
        for file, blob in list(blobs.items()):
            if isinstance(blob, str):
                self.find("consistent", "%s, file %s" % (place, file), "its bytes", blob)
                del blobs[file]
        due = {name, *others}
        document, record = None, None
        if name in blobs:
            record = hexhash(blobs[name])
            try:
                document = read_json(blobs[name])
                fault = fields(document, DOCUMENTS[name])
            except ValueError as error:
                fault = error
            if fault is not None:
                self.find("consistent", "%s, file %s" % (place, name), "a canonical document as section 7 has it", fault)
                document = None
        if document and "btc_header" in due and document["block"]["source"] == "local":
            due.discard("btc_header")
        elif document is None and "btc_header" not in files:
            due.discard("btc_header")
        if set(files) != due:
            self.find("consistent", place, "the files " + ", ".join(sorted(due)), "the files " + ", ".join(sorted(files)))
        return document, blobs, record

    def check_message(self, message, kind, document, record, log, place):
        trailers = {
            "genesis": lambda d: ("genesis", []),
            "session_start": lambda d: ("session_start:%s:btc-%d" % (d["session_id"][:16], d["block"]["height"]),
                                        [("Session", d["session_id"])]),
            "interaction": lambda d: ("interaction-%d" % d["seq"], [("Session", d["session_id"]), ("Seq", d["seq"]),
                                                                    ("Chain", d["chain_entry"])]),
            "session_end": lambda d: ("session_end:%s:btc-%d" % (d["session_close_hash"][:16], d["block"]["height"]),
                                      [("Session", d["session_id"]), ("Close", d["session_close_hash"])]),
            "close": lambda d: ("close:" + d["session_id"][:16],
                                [("Session", d["session_id"]), ("Close", d["session_close_hash"])]),
            "checkpoint": lambda d: ("checkpoint:" + d["log_head"][:16], []),
            "key_rotate": lambda d: ("key_rotate:" + hexhash(read_key(d["new_signer"]))[:16], []),
        }
        subject, pairs = trailers[kind](document)
        pairs = pairs + [("Record", record), ("Log", log)]
        due = subject + "\n\n" + "".join("%s: %s\n" % pair for pair in pairs)
        if message != due.encode():
            actual = message.decode("utf-8", "replace")
            n = next((i for i, (a, b) in enumerate(zip(due.split("\n"), actual.split("\n"))) if a != b), 0)
            self.find("consistent", place + ", message", due.split("\n")[n], (actual.split("\n") + [""])[n][:200])

    def check_parents(self, kind, parents, session, place, end=None):
        due = [self.main_tip]
        if kind == "genesis":
            due = []
        elif kind == "close":
            due = [self.main_tip, end]
        elif kind not in ON_MAIN:
            if session is None:
                return
            tip = self.tips.get(session.branch)
            if kind != "session_start":
                due = [tip]
            elif tip is not None:
                due = [tip] + ([self.main_tip] if self.reach[session.branch] < self.main_count else [])
        if list(parents) != due:
            self.find("consistent", place, "parents " + (" ".join(map(str, due)) or "none"),
                      "parents " + (" ".join(parents) or "none"))

    def advance(self, kind, oid, session):
        """Moves the tip that a writer moves with this commit."""
        if kind in ON_MAIN:
            self.main_tip = oid
            self.main_count += 1
        elif session is not None:
            self.tips[session.branch] = oid
            if kind == "session_start":
                self.reach[session.branch] = self.main_count
            self.reach.setdefault(session.branch, 0)

    def close_of(self, line, session, end):
        """The merge on main that belongs to a session's end."""
        found = self.closes.get(line.hash, [])
        if len(found) > 1:
            self.find("consistent", line.place, "one close on main with this Log", "%d" % len(found))
        elif not found:
            self.missing.append((line.place, "one close on main with this Log"))
            self.missing_of = line.session
        for oid in found:
            self.claimed.add(oid)
            place = self.place(oid)
            parsed = self.parse(oid, place)
            if parsed:
                raw, match, signed = parsed
                self.signature(raw, match, signed, place, self.key)
                self.check_dates(match, line.time, place)
                end_raw = self.git.read(end, "commit", MAX_COMMIT) if end else b""
                if isinstance(end_raw, bytes):
                    self.same(place, "tree", end_raw[5:45].decode("latin-1"), match.group(1).decode())
                document = {"session_id": line.session, "session_close_hash": line.details["close"]}
                self.check_message(match.group(7), "close", document, line.details["record"], line.hash, place)
            self.check_parents("close", self.nodes[oid].parents, session, place, end)
            self.advance("close", oid, session)

    # ---- documents, one function a kind

    def document_of_genesis(self, document, blobs, _line, _session, _prompt, place):
        self.allowed = signer_line(document["signer"])
        self.same(place, "allowed_signers", self.allowed, blobs.get("allowed_signers"))

    def document_of_session_start(self, document, blobs, line, session, _prompt, place):
        block = document["block"]
        ident = hexhash(bytes.fromhex(document["auth_key_hash"]) + block["hash"].encode() + bytes.fromhex(document["prev_log"]))
        self.same(place, "session_id", ident, document["session_id"])
        self.same(place, "branch", "branch-%d" % (block["height"] % 7 + 1), document["branch"])
        if line:
            details = line.details
            self.same(place, "session_id", line.session, document["session_id"])
            self.same(place, "auth_key_hash", details["auth"], document["auth_key_hash"])
            self.same(place, "block hash", details["block"], block["hash"])
            self.same(place, "block height", line.int("btc"), block["height"])
            self.same(place, "branch", details["branch"], document["branch"])
            self.same(place, "prev_log", line.prev, document["prev_log"])
        if block["source"] == "local" and not self.apart:
            self.local_starts += 1
        self.start_blocks[document["session_id"]] = block
        self.check_block(block, blobs, place, session.id if session else document["session_id"], document["opened_at"])

    def document_of_interaction(self, document, blobs, line, session, prompt, place):
        if session:
            self.same(place, "session_id", session.id, document["session_id"])
            self.same(place, "prev", session.final.hex(), document["prev"])
        entry = chain_entry(bytes.fromhex(document["prev"]), document["prompt_hash"], document["response_hash"],
                            document["timestamp"])
        self.same(place, "chain_entry", entry, document["chain_entry"])
        if line:
            details = line.details
            self.same(place, "seq", line.int("seq"), document["seq"])
            self.same(place, "response_hash", details["hash"], document["response_hash"])
            self.same(place, "chain_entry", details["chain"], document["chain_entry"])
            self.same(place, "model", details["model"], document["model"])
        if prompt:
            self.same(place, "prompt_hash", prompt[0], document["prompt_hash"])
            self.same(place, "asked_at", prompt[1], document["asked_at"])
        values = {"chain_entry": "chain_entry", "prompt_hash": "prompt_hash", "response_hash": "response_hash",
                  "session": "session_id"}
        for file, key in values.items():
            self.same(place.replace("record.json", file), "content", (document[key] + "\n").encode(), blobs.get(file))
        if session and not line:
            if document["seq"] in session.answered:
                self.find("consistent", place, "a seq that is new", document["seq"])
            asked = session.open_prompts.pop(document["seq"], None)
            if asked:
                self.same(place, "prompt_hash", asked[0], document["prompt_hash"])
                self.same(place, "asked_at", asked[1], document["asked_at"])
            session.asked.add(document["seq"])
            session.answered[document["seq"]] = None
            session.final = bytes.fromhex(document["chain_entry"])
            session.answers += 1

    def document_of_session_end(self, document, blobs, line, session, _prompt, place):
        block = document["block"]
        if session:
            final = session.final if session.answers else bytes(32)
            self.same(place, "session_id", session.id, document["session_id"])
            self.same(place, "final_chain_hash", final.hex(), document["final_chain_hash"])
            self.same(place, "interactions", session.answers, document["interactions"])
        close = hexhash(bytes.fromhex(document["session_id"]) + block["hash"].encode()
                        + bytes.fromhex(document["final_chain_hash"]))
        self.same(place, "session_close_hash", close, document["session_close_hash"])
        if line:
            self.same(place, "block hash", line.details["block"], block["hash"])
            self.same(place, "block height", line.int("btc"), block["height"])
        self.check_block(block, blobs, place, document["session_id"], document["closed_at"])

    def document_of_checkpoint(self, document, _blobs, line, _session, _prompt, place):
        block = document["block"]
        if self.network:
            self.same(place, "network", self.network, block["network"])
        self.check_local(block, place)
        self.same(place, "log_head", line.prev, document["log_head"])
        self.same(place, "sessions_open", len(self.sessions), document["sessions_open"])
        self.same(place, "block height", line.height, block["height"])
        if line.height == 0:
            self.same(place, "block time", document["created_at"], block["time"])
        elif line.height in self.blocks:
            self.same(place, "block hash", self.blocks[line.height], block["hash"])

    def document_of_key_rotate(self, document, blobs, _line, _session, _prompt, place):
        if self.key is not None:
            self.same(place, "old_signer", key_text(self.key), document["old_signer"])
        self.allowed += signer_line(document["new_signer"])
        self.same(place, "allowed_signers", self.allowed, blobs.get("allowed_signers"))
        self.next_key = self.first_key and read_key(document["new_signer"])
        if self.next_key:
            self.keys_by_line.append((self.number, self.next_key))
        if read_key(document["new_signer"]) in [read_key(signer) for signer in self.signers]:
            self.find("consistent", place, "a new signer that was not in force before", document["new_signer"])
        self.signers.append(document["new_signer"])

    # ---- the end

    def finish_log(self):
        for want, _ in self.due:
            self.find("complete", "the log's end", "%s of session %s" % (want, self.last_start), "the end of the log")
        for session in self.sessions.values():
            self.unanswered(session, session.start_place)

    def finish(self):
        if self.next_key:
            self.key, self.next_key = self.next_key, None
        for place, expected in self.missing:
            self.find("complete", place, expected + ", the last transaction's", "none")
        self.ended_at, self.last_time = self.number, self.time
        self.commits_without_line()
        self.finish_log()
        for receipt in self.receipts:
            receipt.judge(self)
        for session in self.sessions.values():
            # While a session is open its drift line may still come: short, not wrong.
            self.missing_drift(session, "complete")
        self.check_checkpoint()
        if self.chain_path and self.network in EASIEST:
            self.chain = read_chain(self.chain_path, self.network, self.epochs)
        for name, oid in self.notes:
            self.check_notes(name, oid)
            if name == "refs/notes/ots":
                self.check_proofs(oid)
        self.check_places()
        self.check_stamped_times()
        self.check_heads()
        for branch in sorted(set(self.tips) | set(self.refs) - {"main"}):
            self.same("refs/heads/" + branch, "commit", self.tips.get(branch), self.refs.get(branch))
        self.same("refs/heads/main", "commit", self.main_tip, self.refs.get("main"))
        if self.last_signed:
            self.ask_ssh_keygen(*self.last_signed)

    def commits_without_line(self):
        """Commits whose line is not there: beyond a log that is too short, or not of this ledger."""
        left = set(self.nodes) - self.claimed
        todo = [oid for oid in left if not left.intersection(self.nodes[oid].parents)]
        children = {}
        for oid in left:
            for parent in self.nodes[oid].parents:
                children.setdefault(parent, []).append(oid)
        done = set()
        while todo:
            oid = todo.pop()
            if oid in done:
                continue
            done.add(oid)
            self.commit_without_line(oid)
            todo.extend(c for c in children.get(oid, []) if left.intersection(self.nodes[c].parents) <= done)

    def on_branches(self):
        """The commits on the first parents of a branch's ref, from where it leaves main."""
        if self.of_branches is None:
            self.of_branches = set()
            for name, oid in self.refs.items():
                while name != "main" and oid in self.nodes and oid not in self.positions and oid not in self.of_branches:
                    self.of_branches.add(oid)
                    oid = self.nodes[oid].parents[0] if self.nodes[oid].parents else None
        return self.of_branches

    def commit_without_line(self, oid):
        node, place = self.nodes[oid], self.place(oid)
        short = node.kind == "genesis" and not node.parents or node.kind not in ON_MAIN
        # Behind the last segment, with no log at hand: checked by itself, and it counts for *consistent* alone.
        if (self.log_path is None and node.kind in ("session_start", "interaction") and node.log is not None
                and node.log not in self.record_lines and oid in self.on_branches()):
            self.apart = True
            self.commits_apart += 1
            self.commit(oid, node.kind, None, None, None)
            self.apart = False
            return
        if node.log not in self.record_lines:
            self.find("complete" if short else "consistent+complete", place, "a log with the line " + str(node.log),
                      "a log of %d lines without it" % self.number)
        if short and node.kind:
            self.commit(oid, node.kind, None, None, None)
        else:
            self.check_only_signature(oid)

    def check_checkpoint(self):
        """The tree head beside the log is of its lines so far, by the key in force at its last."""
        if self.checkpoint is None:
            return
        place, (text, origin, size, root, ident, signature) = "audit.checkpoint", self.checkpoint
        if self.origin is not None:
            self.same(place, "origin", self.origin, origin)
        if size > self.number:
            self.find("complete", place, "a log of %d lines" % size, "%d lines that are signed and here" % self.number)
        elif self.sizes[size] is not None:
            self.same(place, "root", self.sizes[size][0].hex(), root.hex())
        # Behind the last segment it is the newest of main that is in force: a rotation is a segment's end.
        key = self.newest_key() if size > self.in_segments else self.in_force(size)
        if key and (ident != key_id(origin, LOG_KEY, key) or not self.holds(key, text, signature)):
            self.find("consistent+signed_by", place, "a signature by " + key_text(key), "another key id, or it does not hold")

    def check_notes(self, name, tip):
        """A notes ref: its objects are what they are called, its notes are on commits of main."""
        commits, seen = [tip], set()
        while commits:
            oid = commits.pop()
            if oid in seen:
                continue
            seen.add(oid)
            raw = self.git.read(oid, "commit", MAX_COMMIT)
            start = START.match(raw) if isinstance(raw, bytes) else None
            if not start:
                self.find("consistent", "%s, commit %s" % (name, oid), "a commit", raw[:100])
                continue
            commits.extend(line[7:].decode() for line in start.group(2).splitlines())
            self.check_notes_tree(name, start.group(1).decode(), oid == tip)

    def check_notes_tree(self, name, root, newest):
        """One tree of notes: two levels of folders at most, each under one name, and no more entries than commits on main."""
        folders, here, count, notes = [(root, ())], set(), 0, 0
        while folders:
            tree, path = folders.pop()
            if tree in here:
                self.find("consistent", "%s, tree %s" % (name, tree), "a folder of one name", "several names")
                continue
            here.add(tree)
            if not newest and (tree, path) in self.seen_notes:
                continue
            self.seen_notes.add((tree, path))
            raw = self.git.read(tree, "tree", MAX_TREE)
            entries = read_entries(raw) if isinstance(raw, bytes) else None
            if entries is None:
                self.find("consistent", "%s, tree %s" % (name, tree), "a tree of notes", raw[:100])
                continue
            for mode, file, child in entries:
                note = "/".join(path + (file,))
                count, notes = count + 1, notes + (mode != "40000")
                if notes > len(self.main) or count > 2 * len(self.main) + 300 or mode == "40000" and len(path) == 2:
                    self.find("consistent", "%s, tree %s" % (name, root), "one entry for each commit on main, in two levels of "
                              "folders at most", "more")
                    return
                if mode == "40000":
                    folders.append((child, path + (file,)))
                    continue
                if mode != "100644" or "".join(path) + file not in self.positions:
                    self.find("consistent", "%s, note %s" % (name, note), "a file, mode 100644, of a commit on main", mode)
                    continue
                if not newest and child in self.seen_notes:
                    continue
                self.seen_notes.add(child)
                blob = self.git.read(child, "blob", MAX_NOTE)
                if isinstance(blob, str):
                    self.find("consistent", "%s, note %s" % (name, note), "its bytes", blob)

    def check_proofs(self, tip):
        """The proofs that a notes commit holds; of two notes on one commit the later counts, and a tree that holds anything
        but notes holds none."""
        raw, found = self.git.read(tip, "commit", MAX_COMMIT), {}
        start = START.match(raw) if isinstance(raw, bytes) else None
        if not start or not self.notes_in(start.group(1).decode(), "", 2, found):
            return
        for oid in self.main:
            blob = self.git.read(found[oid], "blob", MAX_NOTE) if oid in found else None
            if isinstance(blob, bytes):
                self.check_proof(oid, blob)

    def check_proof(self, oid, raw):
        """Section 9: a note is a proof of its commit's checkpoint, and ends in Merkle roots."""
        node, place = self.nodes.get(oid), "refs/notes/ots, note " + oid
        line = node and self.record_lines.get(node.log)
        stamped = self.tree_head_of(oid) if node else None
        if not line and node and node.kind != "genesis":
            return
        try:
            if not isinstance(stamped, bytes):
                raise NoProof("a proof of no checkpoint: the commit has none")
            proof = Proof(raw, sha256(stamped).digest(), lambda: self.git.budget.check(place))
            if any(height > MAX_HEIGHT for height, _ in proof.blocks):
                raise NoProof("a block that is none")
        except (NoProof, RecursionError) as fault:
            self.find("not_after", place, "an OpenTimestamps proof of the commit's checkpoint", fault)
            return
        good, unknown = [], []
        if any(message is None and height in self.chain for height, message in proof.blocks):
            self.uncomputed += 1
            return
        for height, message in proof.blocks:
            if height not in self.chain or message is None:
                unknown.append(height)
            elif self.chain[height][36:68] == message:
                good.append(height)
            else:
                self.find("not_after", place, "the Merkle root of block %d, %s" % (height, self.chain[height][36:68].hex()),
                          message.hex())
        if good:
            self.attested.append((line, min(good)))
        elif unknown:
            self.unattested.append(min(unknown))
        elif not proof.blocks and proof.promised:
            self.pending += 1
            if self.noted_first is None or line < self.noted_first[0]:
                self.noted_first = (line, oid)

    def check_places(self):
        """Section 9: with headers at hand, a named block is in the chain at its height, or was orphaned there."""
        for (height, block), (prev, bits, place) in self.named.items():
            if height not in self.chain:
                self.unproven.append(height)
                continue
            if sha256(sha256(self.chain[height]).digest()).digest()[::-1].hex() == block:
                self.proven += 1
            elif self.chain[height][4:36].hex() == prev and self.chain[height][72:76].hex() == bits and height - 1 in self.chain:
                self.orphaned += 1
            else:
                self.find("not_before", place, "the block at height %d, or one beside it" % height, "block %s" % block)

    def check_stamped_times(self):
        """A line that says that it is younger than a block that attests it was written by a clock that was fast."""
        lowest, after = None, {}
        for line, height in self.attested:
            seconds = int.from_bytes(self.chain[height][68:72], "little")
            after[line] = min(seconds, after.get(line, seconds))
        for line in range(min(max(after, default=0), len(self.times)), 0, -1):
            if line in after:
                lowest = after[line] if lowest is None else min(lowest, after[line])
            if lowest is not None and self.times[line - 1] > lowest + AHEAD:
                self.late.append(line)
                self.find("not_after", "log line %d" % line, "a TIMESTAMP no later than its block's, " + stamp_text(lowest),
                          stamp_text(self.times[line - 1]))

    def stamped(self):
        waits = "; %d wait for a block" % self.pending if self.pending else ""
        if self.git is None:
            return ("not checked", "the log alone: proofs are in the ledger")
        if self.attested:
            last = max(line for line, _ in self.attested)
            return ("yes", "%d proofs; lines up to %d were there before block %d%s"
                    % (len(self.attested), last, min(h for line, h in self.attested if line == last), waits))
        if self.unattested:
            return ("not checked", "%d proofs, and no header of the blocks they name is at hand, the lowest %d: --headers%s"
                    % (len(self.unattested), min(self.unattested), waits))
        if self.pending:
            return ("not checked", "%d proofs wait for a block yet" % self.pending)
        return ("not checked", "the ledger carries no OpenTimestamps proof")

    def tail_words(self):
        last = max((line for line, _ in self.attested), default=0)
        if not last and not self.covered:
            return "%d lines, as no outside proof was checked" % self.number
        return "%d lines after line %d" % (self.number - max(last, self.covered), max(last, self.covered))

    # ---- brackets

    def lowest(self, line):
        """The lowest block that attests a line; None without one."""
        return min((height for of, height in self.attested if of >= line), default=None)

    def bracket_of(self, ident):
        """Between which blocks a session was; an end that is not known, or of which something is wrong, is None."""
        block, end = self.start_blocks[ident], self.end_lines.get(ident)
        before = after = None
        wrong = self.counts["not_before"] + self.counts["consistent"]
        if self.unnamed_network():
            return {"session": ident, "not_before": None, "not_after": None}
        beyond = self.chain and self.network == "bitcoin" and block and block["height"] not in self.chain
        cheap_here = not self.chain and any(session == ident for session, _, _ in self.cheap)
        if block and block["source"] != "local" and not (wrong or beyond or cheap_here):
            proven = block["height"] in self.chain and (block["height"], block["hash"]) in self.named
            before = {"block": block["height"], "time": stamp_text(block["time"]), "height_proven": proven}
        lowest = self.lowest(end) if end and not self.counts["not_after"] else None
        if lowest is not None:
            time = stamp_text(int.from_bytes(self.chain[lowest][68:72], "little"))
            after = {"block": lowest, "time": time, "height_proven": True}
        return {"session": ident, "not_before": before, "not_after": after}

    def longest_span(self):
        """The widest bracket of any line that has both ends, and how many attested lines are after no block."""
        longest, unbounded, start = None, 0, 1
        first = self.rises[0][0] if self.rises else None
        for last in sorted({line for line, _ in self.attested}):
            unbounded += max((last + 1 if first is None else min(last + 1, first)) - start, 0)
            line = start if first is None else max(start, first)
            if first is not None and line <= last:
                after = [height for of, height in self.rises if of <= line][-1]
                span = max(self.lowest(line) - after, 0)
                if longest is None or span > longest["blocks"]:
                    longest = {"blocks": span, "line": line, "after_block": after, "before_block": self.lowest(line)}
            start = last + 1
        return (None if self.counts["not_before"] else longest), (0 if self.counts["not_before"] else unbounded)

    def oldest_pending(self):
        """The oldest head whose proof waits, and when its note first stood there; notes only come."""
        if self.noted_first is None:
            return None
        commit, tips = self.noted_first[1], [dict(self.notes)["refs/notes/ots"]]
        while True:
            raw = self.git.read(tips[-1], "commit", MAX_COMMIT)
            start = START.match(raw) if isinstance(raw, bytes) else None
            if not start or not start.group(2):
                break
            tips.append(start.group(2).splitlines()[0][7:].decode())

        def has(tip):
            raw, found = self.git.read(tip, "commit", MAX_COMMIT), {}
            start = START.match(raw) if isinstance(raw, bytes) else None
            return bool(start) and self.notes_in(start.group(1).decode(), "", 2, found) and commit in found

        low, high = 0, len(tips)
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if has(tips[middle]) else (low, middle)
        # Nobody signed it: a date of more digits than times have, or behind them all, is none.
        time = re.search(rb"\ncommitter [^\n]*> ([0-9]{1,12}) ", self.git.read(tips[low - 1], "commit", MAX_COMMIT)) if low else None
        known = time and int(time.group(1)) <= MAX_TIME
        return {"commit": commit, "since": stamp_text(int(time.group(1)))} if known else None

    # ---- tree heads outside

    def read_witness_notes(self):
        """The notes of refs/notes/witness, and the sizes of the log that tree heads outside are about."""
        tip = dict(self.notes).get("refs/notes/witness")
        raw = self.git.read(tip, "commit", MAX_COMMIT) if tip else None
        start = START.match(raw) if isinstance(raw, bytes) else None
        found = {}
        # A tree that holds anything but notes says nothing; what is wrong in it is reported with its objects.
        if start and self.notes_in(start.group(1).decode(), "", 2, found):
            found.pop("", None)
            for commit, blob in sorted(found.items()):
                content = self.git.read(blob, "blob", MAX_NOTE)
                if isinstance(content, bytes):
                    self.cosigned_notes.append((commit, read_cosigned_head(content)))
        notes = [note for _, note in self.cosigned_notes if note] + [note for _, note in self.heads]
        self.sizes = {parts[2]: None for _, parts, _ in notes}
        self.keep_size()

    def notes_in(self, tree, above, depth, found):
        raw = self.git.read(tree, "tree", MAX_TREE)
        entries = read_entries(raw) if isinstance(raw, bytes) else None
        if entries is None:
            return False
        for mode, name, child in entries:
            found[""] = found.get("", 0) + 1
            if found[""] > 2 * len(self.main) + 300:
                return False
            if mode == "40000" and depth and len(name) == 2:
                if not self.notes_in(child, above + name, depth - 1, found):
                    return False
            elif mode == "100644" and re.match(r"[0-9a-f]{40}\Z", above + name):
                found[above + name] = child
            else:
                return False
        return True

    def check_heads(self):
        """Tree heads outside are of this log; cosignatures against the policy."""
        for commit, note in self.cosigned_notes:
            place = "refs/notes/witness, note " + commit
            if note is None:
                self.find("consistent", place, "a tree head with signature lines", "another text")
                continue
            own = commit in self.positions and self.tree_head_of(commit) == note[0]
            if commit in self.positions and not own:
                self.find("consistent", place, "the tree head of the commit that it is on", "another")
            times = self.cosigners(place, note)
            if not own and (times or self.signed_here(note)):
                self.check_head(place, note, bool(times))
            if own and times is not None and self.policy:
                self.cover(note, times)
        for place, note in self.heads:
            if not self.check_head(place, note, bool(self.cosigners(place, note))):
                self.contradicted_by.add(place)

    def tree_head_of(self, commit):
        raw = self.git.read(commit, "commit", MAX_COMMIT)
        files = self.read_tree(raw[5:45].decode(), None) if isinstance(raw, bytes) else None
        return self.git.read(files["checkpoint"], "blob", MAX_HEAD) if files and "checkpoint" in files else None

    def signed_here(self, note):
        _, (text, origin, _, _, ident, signature), _ = note
        keys = [read_key(signer) for signer in self.signers]
        return any(ident == key_id(origin, LOG_KEY, key) and self.holds(key, text, signature) for key in keys)

    def cosigners(self, place, note):
        """[(witness, time)] of the policy's witnesses; None when a line is not what it claims."""
        found, whole = [], True
        for called, name, time in (self.policy.cosigners(note, self.holds) if self.policy else ()):
            if time is not None:
                found.append((called, time))
            else:
                whole = False
                self.find("unique", place, "a cosignature by the key of " + name, FORGED)
        return found if whole else None

    def check_head(self, place, note, by_witness):
        """A tree head outside is one of this log; False when the log says otherwise."""
        _, (_, origin, size, root, _, _), _ = note
        if origin != self.origin:
            return True
        who = "the ledger's key" if self.signed_here(note) else "a witness" if by_witness else "a key not in this ledger"
        if size > self.number:
            self.find("complete", place, "a log of %d lines, as %s signed" % (size, who), "%d lines" % self.number)
            return False
        if self.sizes[size] is not None and self.sizes[size][0] != root:
            # Of the ledger's own key it is a second history, and this one is not whole without it.
            self.find("consistent+unique" if self.signed_here(note) else "unique", place, "root %s, that of the first %d lines "
                      "here" % (self.sizes[size][0].hex(), size), "root %s, signed by %s: a second history" % (root.hex(), who))
            return False
        return True

    def cover(self, note, times):
        size = note[1][2]
        listed = self.policy.knows(note[1], self.holds)
        names = sorted({name for name, _ in times})
        by = self.policy.reached_at(times, self.sizes[size][1] if self.sizes[size] else 0) if listed else None
        if listed and self.policy.reached(names) and size > self.covered:
            self.covered, self.cosigners_of = size, names
        if by is not None and by <= MAX_TIME and size > self.witnessed_line[0]:
            self.witnessed_line = (size, by)

    def unique(self):
        if self.policy is None:
            return ("not checked", "no witness policy was given: a second history would not show")
        if self.policy.quorum is None:
            return ("not checked", "the policy asks no witness: a second history would not show")
        if self.git is None or not self.covered:
            return ("not checked", "no tree head here has the cosignatures that the policy asks for")
        by = ", ".join(self.cosigners_of)
        return ("yes" if self.covered >= self.signed_line else "partly", "through line %d: %s cosigned this history; %d lines came "
                "after" % (self.covered, by, self.signed_line - self.covered))

    def not_after_line(self):
        """The last line that a proof or witnesses show to have been there by then."""
        return max([self.witnessed_line[0]] + [line for line, _ in self.attested])

    def not_after(self):
        if self.unnamed_network():
            return ("not checked", "a %s ledger: its blocks prove nothing; name the network with --network" % self.network)
        last, stamped = self.not_after_line(), self.stamped()
        if self.uncomputed:
            return ("not checked", "%d proofs need %s" % (self.uncomputed, NO_HASH))
        if not last:
            return stamped
        reasons = [stamped[1]] if self.attested else []
        if self.witnessed_line[0]:
            reasons.append("witnesses had seen %d lines by %s" % (self.witnessed_line[0], stamp_text(self.witnessed_line[1])))
        return ("yes" if last >= self.signed_line else "partly", "through line %d: %s" % (last, "; ".join(reasons)))

    def unnamed_network(self):
        """Whether this is a test network, whose blocks anybody makes, and the checker did not name it."""
        return self.network not in (None, "bitcoin", self.named_network)

    def session_of(self, kind, document, place):
        """The session of a commit without a line."""
        ident = document["session_id"]
        if kind == "session_start" and ident not in self.sessions and ident not in self.ended:
            session = Session(ident, document["branch"], document["block"]["height"], document["auth_key_hash"], place)
            session.final = bytes.fromhex(ident)
            self.sessions[ident] = session
        if ident not in self.sessions:
            self.find("consistent", place, "a session that is open", "session " + ident)
        return self.sessions.get(ident)

    # ---- answers

    def answers(self):
        words = {}
        counts = self.counts
        held = "%d commits, %d log lines, %d tree heads" % (len(self.nodes), self.number, len(self.tree_heads))
        if self.git is None:
            words["consistent"] = ("not checked", "the log alone: %d lines hold together" % self.number)
            words["complete"] = ("not checked", "the log alone")
        else:
            words["consistent"] = ("yes", held + " hold together")
            apart = "; %d commits behind the last segment, without a log" % self.commits_apart if self.commits_apart else ""
            words["complete"] = ("yes", "up to line %d of %s: every prompt has its outcome and every commit its line%s; unanchored "
                                 "tail: %s" % (self.number, stamp_text(self.last_time), apart, self.tail_words()))
            if not self.number:
                words["complete"] = ("not checked", "no line of the log is at hand")
        words["unique"] = self.unique()
        words["not_after"] = self.not_after()
        words["not_before"] = self.not_before()
        words["signed_by"] = self.signed_by()
        if self.git is None:
            words["signed_by"] = ("not checked", "the log alone")
        for question in QUESTIONS:
            if counts[question] and not (self.unnamed_network() and question in ("not_before", "not_after")):
                words[question] = ("no", "%d finding%s" % (counts[question], "" if counts[question] == 1 else "s"))
        return words

    def not_before(self):
        if self.git is None:
            return ("not checked", "the log alone: the headers of starts and ends are in the ledger")
        if self.network is None:
            return ("not checked", "genesis.json does not say which network")
        if self.unnamed_network():
            return ("not checked", "a %s ledger: its blocks prove nothing; name the network with --network" % self.network)
        if self.unseen_headers:
            return ("not checked", "%d places where a start, an end or an anchor may be could not be looked at" % self.unseen_headers)
        if not self.headers:
            return ("not checked", "no session names a block of the network")
        if self.network == "bitcoin" and not self.epochs:
            return ("not checked", "no genesis/btc-epochs.csv beside this script: the difficulty was not compared")
        if self.chain and self.unproven and self.network == "bitcoin":
            return ("not checked", "the headers at hand end below block %d" % max(self.unproven))
        if not self.chain and self.cheap:
            return ("not checked", "cheap work: less than a sixteenth of what the table ends with, of session%s %s" % (
                "" if len(self.cheap) == 1 else "s", ", ".join(sorted({str(session) for session, _, _ in self.cheap})[:5])))
        kept = "; %d at the height that the headers prove, %d orphaned" % (self.proven, self.orphaned) if self.chain else ""
        return ("yes", "%d block headers show their work; %d sessions start on no block%s"
                % (self.headers, self.local_starts, kept))

    def signed_by(self):
        if self.key_unknown or self.key is None:
            return ("not checked", "no key of the ledger was read")
        if self.unseen_signatures:
            return ("not checked", "%d signatures could not be read" % self.unseen_signatures)
        key = self.in_force(self.signed_line)
        how = "%d commits by %%s%s, through line %d; ssh-keygen was asked about %d" % (
            self.signed, key_text(key), self.signed_line, self.asked)
        if self.pinned and key not in self.pinned:
            self.find("signed_by", "log line %d" % self.signed_line, "a key of --signer: " + ", ".join(map(key_text, self.pinned)),
                      key_text(key))
            return ("no", "1 finding")
        if self.unsigned and not self.newer:
            return ("not checked", "lines %d to %d are signed by nobody; %s" % (
                self.signed_line + 1, self.signed_line + self.unsigned, how % ""))
        if not self.signed_line:
            return ("not checked", "no line is at hand that anybody signed")
        if self.pinned is None:
            return ("not checked", "unpinned: " + how % "" + "; pin it with --signer")
        if key != self.pinned[-1]:
            return ("not checked", "retired: the last signed line is by an older key of --signer; " + how % "")
        return ("yes", how % "the pinned ")

    def report(self):
        words = self.answers()
        shown = list(self.findings)
        return {
            "genesis": self.genesis, "entries": self.number, "sessions": len(self.sessions) + len(self.ended),
            "btc_anchors": self.anchors, "chain_integrity": "BROKEN" if self.counts["consistent"] else "VALID",
            "answers": {q: words[q][0] for q in QUESTIONS}, "reasons": {q: words[q][1] for q in QUESTIONS},
            "findings": shown, "more_findings": sum(self.counts.values()) - len(shown), "origin": self.origin,
            "signers": self.signers, "log_head": self.head, "lines_in_segments": self.in_segments,
            "network": self.network, "signed_through": self.signed_line, "lines_unsigned": 0 if self.newer else self.unsigned,
            "lines_newer": self.unsigned if self.newer else 0, "clock_sets": self.clock_sets, "foreign_refs": self.foreign_refs,
            "late_lines": sorted(self.late)[:FINDINGS_SHOWN] if len(self.late) == self.counts["not_after"] else [],
            "commits_without_line": self.commits_apart, "pinned": self.pinned is not None and self.first_key in self.pinned,
            "extents": {"complete": self.number, "unique": self.covered, "not_after": self.not_after_line(),
                        "signed_by": self.signed_line},
            "commits": {kind or "unknown": n for kind, n in sorted(self.commits.items(), key=str)},
            "tree_heads": self.tree_heads, "database": None, "receipts": len(self.receipts), "remarks": self.remarks,
            "contradicted_by": sorted(self.contradicted_by),
            "session_brackets": [self.bracket_of(ident) for ident in self.start_blocks],
            "bracket": {"longest_span": self.longest_span()[0], "attested_after_no_block": self.longest_span()[1],
                        "oldest_pending": self.oldest_pending(), "proofs": len(self.attested), "proofs_without_header": len(self.unattested),
                        "proofs_pending": self.pending, "blocks_proven": self.proven, "blocks_orphaned": self.orphaned,
                        "unanchored_tail": self.number - max([self.covered] + [line for line, _ in self.attested])},
        }


def ssh_keygen_refuses(key, payload, armor):
    """What ssh-keygen says against a signature; None when it accepts it."""
    with tempfile.TemporaryDirectory(prefix="gently-verify-") as folder:
        signers, signature = os.path.join(folder, "signers"), os.path.join(folder, "signature")
        with open(signers, "w", encoding="ascii") as file:
            file.write('ledger@gently.invalid namespaces="git" %s\n' % key_text(key))
        with open(signature, "wb") as file:
            file.write(b"-----BEGIN SSH SIGNATURE-----\n" + armor.replace(b" ", b"") + b"-----END SSH SIGNATURE-----\n")
        try:
            done = subprocess.run(["ssh-keygen", "-Y", "verify", "-f", signers, "-I", "ledger@gently.invalid", "-n", "git",
                                   "-s", signature], input=payload, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        except OSError as error:
            raise CannotLook("ssh-keygen does not run (%s); install openssh-client" % error) from None
    return done.stdout.decode("utf-8", "replace").strip()[:200] if done.returncode else None


def chain_entry(prev, prompt, response, time):
    return hexhash(prev + bytes.fromhex(prompt) + bytes.fromhex(response) + time.to_bytes(8, "big"))


def signer_line(key):
    return ('ledger@gently.invalid namespaces="git" %s\n' % key).encode()


SIGNED_AS = ssh_string(b"git") + ssh_string(b"") + ssh_string(b"sha512")


def read_armor(armor):
    """(key, signature) of the lines of an SSH signature, each with the space of a commit's header; or None."""
    text = armor.replace(b"\n ", b"").strip()
    blob = decode_base64(text)
    if blob is None or armor != b"".join(b" " + text[i:i + 70] + b"\n" for i in range(0, len(text), 70)):
        return None
    key, signature = blob[33:65], blob[-64:]
    whole = (b"SSHSIG\0\0\0\1" + ssh_string(ssh_string(b"ssh-ed25519") + ssh_string(key)) + SIGNED_AS
             + ssh_string(ssh_string(b"ssh-ed25519") + ssh_string(signature)))
    return (key, signature) if blob == whole else None


def armor_of(key, signature):
    """The lines of an SSH signature, as read_armor reads them."""
    text = base64.b64encode(
        b"SSHSIG\0\0\0\1" + ssh_string(ssh_string(b"ssh-ed25519") + ssh_string(key)) + SIGNED_AS
        + ssh_string(ssh_string(b"ssh-ed25519") + ssh_string(signature)))
    return b"".join(b" " + text[i:i + 70] + b"\n" for i in range(0, len(text), 70))


def spelled(raw):
    """(parts, (key, signature)) of a commit as a writer spells it, else (None, None)."""
    match = HEAD.match(raw) if isinstance(raw, bytes) else None
    signed = read_armor(match.group(6)) if match else None
    if not signed or match.group(3) != match.group(4) or int(match.group(3)) > MAX_TIME:
        return None, None
    try:
        raw.decode()
    except UnicodeDecodeError:
        return None, None
    return match, signed


NOTE = re.compile(rb"(([^\n]+)\n([0-9]+)\n([A-Za-z0-9+/=]+)\n)\n\xe2\x80\x94 ([^ \n]+) ([A-Za-z0-9+/=]+)\n\Z")


def read_note(note):
    """(signed text, origin, size, root, key id, signature) of a tree head as a writer spells it, or None."""
    match = NOTE.match(note)
    if not match or match.group(5) != match.group(2):
        return None
    try:
        origin = match.group(2).decode()
    except UnicodeDecodeError:
        return None
    size, root, blob = read_number(match.group(3).decode()), decode_base64(match.group(4)), decode_base64(match.group(6))
    if not is_origin(origin) or size is None or root is None or len(root) != 32 or blob is None or len(blob) != 68:
        return None
    return match.group(1), origin, size, root, blob[:4], blob[4:]


def read_entries(raw):
    """[(mode, name, object)] of a tree, or None when it breaks off."""
    entries, at = [], 0
    while at < len(raw):
        nul = raw.find(b"\0", at)
        if nul < 0 or nul + 21 > len(raw):
            return None
        mode, _, name = raw[at:nul].partition(b" ")
        entries.append((mode.decode("latin-1"), name.decode("utf-8", "replace"), raw[nul + 1:nul + 21].hex()))
        at = nul + 21
    return entries


def decode_base64(text):
    """The bytes of canonical base64, or None."""
    try:
        blob = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return blob if base64.b64encode(blob) == text else None


def read_signers(text):
    """All keys of --signer: 'ssh-ed25519 AAAA…', or a file with one a line."""
    if text.startswith("ssh-ed25519 "):
        return [read_signer(text)]
    try:
        found = [line.strip() for line in read_text(text, MAX_KEYS).decode().split("\n")]
        lines = [line for line in found if line and not line.startswith("#")]
    except (OSError, UnicodeDecodeError) as error:
        raise CannotLook("no key in --signer '%s': %s" % (text, error)) from None
    if not lines:
        raise CannotLook("no ssh-ed25519 key in --signer '%s': it is empty" % text)
    return [read_signer(line[line.find("ssh-ed25519 "):] if "ssh-ed25519 " in line else "ssh-ed25519 " + line) for line in lines]


def read_signer(text):
    """The key of --signer: 'ssh-ed25519 AAAA…', or a file whose first line holds one."""
    place, lines = text, [text]
    if not text.startswith("ssh-ed25519 "):
        try:
            found = [line.strip() for line in read_text(text, MAX_KEYS).decode().split("\n")]
            lines = [line for line in found if line and not line.startswith("#")]
        except (OSError, UnicodeDecodeError) as error:
            raise CannotLook("no key in --signer '%s': %s" % (place, error)) from None
    words = lines[0].split() if lines else []
    at = words.index("ssh-ed25519") if "ssh-ed25519" in words else len(words)
    key = read_key(" ".join(words[at:at + 2]))
    if key is None:
        raise CannotLook("no ssh-ed25519 key in --signer '%s'; give 'ssh-ed25519 AAAA…' or a .pub file" % place)
    return key


MAX_KEYS = 1 << 20              # bytes of a file of keys


def read_text(path, most):
    with open_regular(path) as file:
        raw = file.read(most + 1)
    if len(raw) > most:
        raise CannotLook("%s: more than %d bytes" % (path, most))
    return raw


def read_policy(path):
    try:
        return Policy(read_text(path, MAX_POLICY).decode())
    except ValueError as error:
        raise CannotLook("%s: %s" % (path, error)) from None


def read_head(path):
    note = read_cosigned_head(read_text(path, 1 << 20))
    if note is None:
        raise CannotLook("%s is no tree head" % path)
    return note


# ---------------------------------------------------------------- one opened text, section 11

ABOUT = ("consistent", "commitment", "tree_head", "signed_by", "cosigned_by", "not_before", "not_after")
ROLES = ("prompt", "response", "exchange", "request", "reply", "artifact")
MAX_OPENING, MAX_SKELETON, MAX_RECEIPT, MAX_PROOF = 32 << 20, 4 << 20, 64 << 10, 64


def is_header(value):
    return isinstance(value, str) and re.match(r"[0-9a-f]{160}\Z", value) is not None


def is_base64(value, size=None):
    blob = decode_base64(value.encode("utf-8", "replace")) if isinstance(value, str) else None
    return blob is not None and size in (None, len(blob))


def or_null(good):
    return lambda value: value is None or good(value)


def a_list(good):
    return lambda value: isinstance(value, list) and all(good(item) for item in value)


def is_line(value):
    """[index, text, proof], and behind them proofs under a stamped root or the head of a rotation."""
    return (isinstance(value, list) and 3 <= len(value) <= 4 and is_count(value[0]) and is_text(value[1]) and is_path(value[2])
            and (len(value) == 3 or is_path(value[3])
                 or isinstance(value[3], list) and len(value[3]) == 2 and is_text(value[3][0]) and is_path(value[3][1])))


def is_path(value):
    return isinstance(value, list) and len(value) <= MAX_PROOF and all(is_hash(node) for node in value)


def is_seen_header(value):
    return isinstance(value, list) and len(value) == 2 and is_count(value[0]) and value[0] <= MAX_HEIGHT and is_header(value[1])


def some(good):
    return lambda value: bool(value) and a_list(good)(value)


OPENING_FILE = {
    "documents": some(lambda value: isinstance(value, dict)), "format": FORMAT, "head": is_text,
    "headers": a_list(is_seen_header), "lines": some(is_line),
    "openings": some(has_fields({"commitment": is_hash, "format": FORMAT, "key": or_null(is_hash), "role": one_of(*ROLES),
                                 "seq": or_null(is_count), "session_id": lambda v: v == "-" or is_hash(v), "text": is_text})),
    "stamp": or_null(has_fields({"checkpoint": is_text, "header": or_null(is_header), "ots": is_base64})),
}
JSON_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')


def read_whole(path, most, what):
    """The canonical document of a file of one line of JSON and its newline."""
    with open_regular(path) as file:
        raw = file.read(most + 1)
    if len(raw) > most:
        raise CannotLook("%s is no %s: more than %d bytes" % (path, what, most))
    # What stands around the strings, quotes among it, is little in a good one, and costs most to read in a bad one.
    if len(raw) - sum(match.end() - match.start() - 2 for match in JSON_STRING.finditer(raw)) > MAX_SKELETON:
        raise CannotLook("%s is no %s: too many values" % (path, what))
    if raw[:14].lower() == b"<!doctype html":
        raise CannotLook("%s is a page: save the file that is in it, and check that" % path)
    if not raw.endswith(b"\n"):
        raise CannotLook("%s is no %s: it does not end with its newline" % (path, what))
    try:
        value = json.loads(raw[:-1].decode("utf-8"), object_pairs_hook=once, parse_int=read_double, parse_float=read_double,
                           parse_constant=read_double)
        if jcs(value) != raw[:-1]:
            raise ValueError("it is not spelled as a writer prints it")
        return value
    except RecursionError:
        raise CannotLook("%s is no %s: nested too deeply" % (path, what)) from None
    except ValueError as error:
        raise CannotLook("%s is no %s: %s" % (path, what, error)) from None


def canonical_object(raw):
    """The object that these bytes are the canonical print of, or None."""
    if len(raw) - sum(match.end() - match.start() - 2 for match in JSON_STRING.finditer(raw)) > MAX_SKELETON:
        return None
    try:
        value = json.loads(raw.decode("utf-8"), object_pairs_hook=once, parse_int=read_double, parse_float=read_double,
                           parse_constant=read_double)
        return value if isinstance(value, dict) and jcs(value) == raw else None
    except (RecursionError, ValueError):
        return None


def read_double(text):
    """A number of JSON, which is a double: an int below 2^53, else a float. ValueError when there is none such."""
    if len(text) < 16 and text.isdigit():
        return int(text)
    number = float(text)
    if number - number:  # neither of the infinities, nor NaN
        raise ValueError("a number that is none: " + text[:40])
    return int(text) if abs(number) <= MAX_JSON_NUMBER and re.match(r"-?[0-9]+\Z", text) and text != "-0" else number


def print_double(number):
    """A double as ECMAScript, and so RFC 8785, prints it: the shortest digits, and their place."""
    if not number:
        return "0"
    sign, (digits, _, power) = "-" if number < 0 else "", repr(abs(number)).partition("e")
    whole, _, part = digits.partition(".")
    part = "" if part == "0" else part
    point = len(whole) + int(power or 0)
    digits = (whole + part).lstrip("0")
    point -= len(whole + part) - len(digits)
    digits = digits.rstrip("0")
    if len(digits) <= point <= 21:
        return sign + digits + "0" * (point - len(digits))
    if 0 < point <= 21:
        return sign + digits[:point] + "." + digits[point:]
    if -6 < point <= 0:
        return sign + "0." + "0" * -point + digits
    return sign + digits[0] + ("." if digits[1:] else "") + digits[1:] + "e%+d" % (point - 1)


def jcs(value):
    """RFC 8785."""
    return canonical(value, 127).encode("utf-8")


def canonical(value, levels):
    if type(value) is int:
        return str(value)
    if isinstance(value, (dict, list)) and not levels:
        raise ValueError("nested too deeply")
    if isinstance(value, dict):
        return "{%s}" % ",".join(json.dumps(key, ensure_ascii=False) + ":" + canonical(value[key], levels - 1)
                                 for key in sorted(value, key=lambda key: key.encode("utf-16-be")))
    if isinstance(value, list):
        return "[%s]" % ",".join(canonical(item, levels - 1) for item in value)
    return print_double(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)


def stamp_text(seconds):
    return (EPOCH + datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def next_hash(prev, rest):
    return hexhash(prev.encode() + b"|" + rest.encode("utf-8"))


def includes(leaf, index, size, path, root):
    """RFC 9162, 2.1.3.2."""
    if index >= size:
        return False
    at, last, node = index, size - 1, leaf
    for sibling in path:
        if last == 0:
            return False
        if at & 1 or at == last:
            node = sha256(b"\1" + sibling + node).digest()
            while not at & 1 and at:
                at, last = at >> 1, last >> 1
        else:
            node = sha256(b"\1" + node + sibling).digest()
        at, last = at >> 1, last >> 1
    return last == 0 and node == root


# What is said behind a block's name.
HEIGHTS = {"proven": ", at the height that the kept headers prove",
           "orphaned": ", orphaned later, at a height that the kept headers prove",
           "claimed": ", at a height that is the file's word", "elsewhere": "",
           "cheap": ": cheap work, less than a sixteenth of what the built-in table ends with: bring headers, --headers",
           "beyond": ": the kept headers do not reach it: gently anchor sync"}
# Which line carries the commitment of a role, and where.
CARRIERS = {("response", "response"): "hash", ("prompt", "prompt"): "hash", ("artifact", "artifact"): "hash",
            ("response_fail", "exchange"): "exchange", ("denied", "exchange"): "exchange",
            ("response", "prompt"): None, ("response", "exchange"): None,
            # No line: the opened exchange document of the turn.
            **{(event, role): None for event in ("response", "response_fail", "denied") for role in ("request", "reply")}}
RECORDED = {"genesis": "genesis.json", "key_rotate": "rotate.json", "session_start": "session.json", "response": "record.json",
            "session_end": "close.json"}


class Shown:
    """One line of an opening file: its place in the log, its parts, and what proves it."""
    __slots__ = ("index", "text", "line", "path", "more", "document", "opened")

    def __init__(self, entry, line):
        self.index, self.text, self.path = entry[:3]
        self.more = entry[3] if len(entry) == 4 else None
        self.line, self.document, self.opened = line, None, False


class CheckOpening:
    """Opened texts, checked with their file alone; the answers are those of section 11."""

    def __init__(self, path, pinned, policy=None, headers=None, named_network=None):
        self.file = read_whole(path, MAX_OPENING, "opening file")
        fault = fields(self.file, OPENING_FILE)
        if fault:
            raise CannotLook("%s is no opening file: %s" % (path, fault))
        if any((opening["seq"] is None) != (opening["role"] == "artifact") for opening in self.file["openings"]):
            raise CannotLook("%s is no opening file: seq is a number of a turn, and null of an artifact" % path)
        self.pinned, self.policy, self.named_network, self.findings, self.words = pinned, policy, named_network, [], {}
        self.ed25519, self.epochs, self.witnessed, self.budget = Ed25519(), read_epochs(), None, Budget()
        self.headers_path, self.chain, self.network, self.heights = headers, None, None, {}
        self.check_size(path)
        self.shown, self.genesis, self.start, self.end, self.rotations = [], None, None, None, []
        self.keys, self.start_seen = [], None
        self.run()

    def check_size(self, path):
        rotations = sum("|key_rotate|" in entry[1] for entry in self.file["lines"])
        beside = len(jcs(self.file)) + 1 - sum(len(jcs(opening["text"])) for opening in self.file["openings"])
        most = (64 << 10) + (8 << 10) * (len(self.file["openings"]) + rotations)
        if beside > most:
            raise CannotLook("%s is no opening file: %d bytes beside the texts; %d is the most" % (path, beside, most))

    def find(self, about, place, expected, actual):
        for one in about.split("+"):
            self.findings.append({"question": one, "place": place, "expected": str(expected)[:500], "actual": str(actual)[:500]})

    def same(self, place, what, expected, actual, about="consistent"):
        if expected != actual:
            self.find(about, place, "%s %s" % (what, expected), "%s %s" % (what, actual))
        return expected == actual

    def run(self):
        self.head = read_cosigned_head(self.file["head"].encode("utf-8"))
        if self.head is None:
            self.find("consistent+tree_head", "head", "a signed tree head", "another text")
        self.read_lines()
        self.read_documents()
        self.match_openings()
        self.needed_lines()
        self.lead_to_keys()
        self.judge_session()
        self.commitments()
        self.tree_head()
        self.cosigned()
        self.signer()
        self.not_before()
        self.not_after()

    # ---- lines and documents

    def read_lines(self):
        before = None
        for entry in self.file["lines"]:
            place = "line %d" % entry[0]
            try:
                line = Line(entry[1].encode("utf-8"), entry[0] + 1, place, None)
            except ValueError as error:
                self.find("consistent", place, "a line as section 4 has it", error)
                line = None
            one = Shown(entry, line)
            if before is not None and one.index <= before.index:
                self.find("consistent", place, "lines by their index, each once", "line %d before it" % before.index)
            if self.head and not includes(sha256(b"\0" + one.text.encode("utf-8")).digest(), one.index, self.head[1][2],
                                          [bytes.fromhex(node) for node in one.path], self.head[1][3]):
                self.find("consistent", place, "a proof that the line is under the tree head", "one that does not hold")
            if line and one.index == 0:
                self.same(place, "HASH", next_hash(GENESIS, one.text.partition("|")[2]), line.hash)
            if line and before and before.line and one.index == before.index + 1:
                self.same(place, "HASH", next_hash(before.line.hash, one.text.partition("|")[2]), line.hash)
            before = one
            self.shown.append(one)

    def read_documents(self):
        with_record = [one for one in self.shown if one.line and one.line.event in RECORDED]
        if len(with_record) != len(self.file["documents"]):
            self.find("consistent", "documents", "%d, one of each line that names a record" % len(with_record),
                      len(self.file["documents"]))
        for one, document in zip(with_record, self.file["documents"]):
            name = RECORDED[one.line.event]
            place = "%s of line %d" % (name, one.index)
            if not self.same(place, "SHA-256", one.line.details["record"], hexhash(jcs(document))):
                continue
            # The beginning of another format has the right form: it is judged, and the rest of it used.
            fault = fields(document, {**DOCUMENTS[name], "genesis": is_hash} if name == "genesis.json" else DOCUMENTS[name])
            if fault:
                self.find("consistent", place, "a document as section 7 has it", fault)
                continue
            one.document = document
            if name == "genesis.json":
                self.same(place, "genesis", GENESIS, document["genesis"])
            self.same(place, KINDS[KIND_OF[one.line.event]][2], one.line.time, document[KINDS[KIND_OF[one.line.event]][2]])

    def event(self, name):
        return [one for one in self.shown if one.line and one.line.event == name]

    # ---- what is opened, and which lines that needs

    def match_openings(self):
        """Each opening has its line; together they stand in the order of these."""
        self.pairs, sessions, before = [], {opening["session_id"] for opening in self.file["openings"]}, None
        if len(sessions) != 1:
            self.find("consistent", "openings", "openings of one session", "of %d" % len(sessions))
        artifacts, taken = self.event("artifact"), 0
        for n, opening in enumerate(self.file["openings"]):
            place, role, carrier = "opening %d" % (n + 1), opening["role"], None
            if role == "artifact":
                self.same(place, "seq", None, opening["seq"])
                carrier, taken = (artifacts[taken], taken + 1) if taken < len(artifacts) else (None, taken)
            else:
                of_turn = [one for one in self.shown if one.line and (one.line.event, role) in CARRIERS and "seq" in one.line.details
                           and one.line.int("seq") == opening["seq"] and one.line.session == opening["session_id"]]
                answered = [one for one in of_turn if one.line.event == "response"]
                carrier = (answered or of_turn or [None])[0]
            if carrier is None:
                self.find("consistent+commitment", place, "a line that carries the commitment of %s %s" % (role, opening["seq"]), "none")
            else:
                carrier.opened = True
                self.same(place, "session_id", carrier.line.session or "-", opening["session_id"])
                rank = (carrier.index, ROLES.index(role))
                if before is not None and rank <= before:
                    self.find("consistent", place, "openings in the order of their lines; of one line prompt, response, exchange, "
                              "request, reply", "another order")
                before = rank
            self.pairs.append((opening, carrier))

    def needed_lines(self):
        """No line is missing that is needed, and none is there that is not."""
        ident = self.file["openings"][0]["session_id"]
        turns = {opening["seq"] for opening in self.file["openings"] if opening["role"] != "artifact"}
        answered = {one.line.int("seq") for one in self.event("response")}
        needed = set()
        for one in self.shown:
            if one.line is None:
                continue
            event, own = one.line.event, one.line.session == ident
            if one.opened or one.index == 0 and event == "genesis" or event == "key_rotate":
                needed.add(one.index)
            elif own and event in ("session_start", "session_end"):
                needed.add(one.index)
            elif own and event in ("response_fail", "denied") and one.line.int("seq") in turns - answered:
                needed.add(one.index)
            else:
                self.find("consistent", "line %d" % one.index, "no line that is not needed", "a %s line" % event)
        first = self.shown[0] if self.shown else None
        if first is None or first.line is None or first.line.event != "genesis" or first.index != 0:
            self.find("consistent", "line 0", "the genesis line", "another, or none")
        else:
            self.genesis = first
        self.rotations = self.event("key_rotate")
        for event, most in (("genesis", 1), ("session_start", 1), ("session_end", 1)):
            if len(self.event(event)) > most:
                self.find("consistent", "lines", "one %s line" % event, len(self.event(event)))
        outcomes = [one.line.int("seq") for event in ("response", "response_fail", "denied") for one in self.event(event)]
        if len(set(outcomes)) != len(outcomes):
            self.find("consistent", "lines", "one outcome of a prompt", "two")
        self.start = next(iter(self.event("session_start")), None)
        self.end = next(iter(self.event("session_end")), None)
        if (self.start is None) != (ident == "-"):
            self.find("consistent", "lines", "the session_start of a session's lines, and none of others", "otherwise")
        for one in self.shown:
            early = self.start and one.line and one.line.session == ident and one.index < self.start.index
            late = self.end and one.line and one.line.session == ident and one.index > self.end.index
            if early or late:
                self.find("consistent", "line %d" % one.index, "lines of a session between its start and its end", "outside")

    # ---- keys

    def lead_to_keys(self):
        """[(first index after which it is in force, key)], as genesis and rotations say."""
        if not self.genesis or not self.genesis.document:
            self.find("tree_head", "genesis.json", "a document that names the first key", "none")
            return
        document = self.genesis.document
        self.network, self.origin = document["network"], document["origin"]
        self.keys.append((0, read_key(document["signer"])))
        for one in self.rotations:
            place, key = "rotation of line %d" % one.index, self.keys[-1][1] if self.keys else None
            if key is None or not one.document:
                self.find("tree_head", place, "a rotation that follows the one before", "none that can be read")
                self.keys.append((one.index + 1, None))
                continue
            self.same(place, "old_signer", key_text(key), one.document["old_signer"])
            new = read_key(one.document["new_signer"])
            if new in [key for _, key in self.keys]:
                self.find("consistent", place, "a new signer that was not in force before", one.document["new_signer"])
            proof = one.more if one.more and len(one.more) == 2 and isinstance(one.more[1], list) else None
            if proof is None:
                self.find("tree_head", place, "the rotation's own tree head, by the old key", "none")
                self.keys.append((one.index + 1, None))
                continue
            note = read_note(proof[0].encode("utf-8"))
            if note is None or note[1] != self.origin or note[2] != one.index + 1 or not self.signed_with(note, key):
                self.find("tree_head", place, "a tree head of %d lines by %s" % (one.index + 1, key_text(key)), "another")
                new = None
            if note is not None and not includes(sha256(b"\0" + one.text.encode("utf-8")).digest(), one.index, note[2],
                                                 [bytes.fromhex(node) for node in proof[1]], note[3]):
                self.find("consistent+tree_head", place, "a proof that the line is under its own tree head", "one that does not hold")
                new = None
            self.same_root(place, note)
            self.keys.append((one.index + 1, new))

    def same_root(self, place, note):
        """Two roots of one size are two histories."""
        if note and self.head and note[2] == self.head[1][2] and note[3] != self.head[1][3]:
            self.find("consistent", place, "root %s of %d lines" % (self.head[1][3].hex(), note[2]), note[3].hex())

    def signed_with(self, note, key):
        text, origin, _, _, ident, signature = note
        return key is not None and ident == key_id(origin, LOG_KEY, key) and self.ed25519.verify(key, text, signature)

    def in_force(self, size):
        """The key in force at the last of so many lines; a rotation's own line is the old key's."""
        keys = [key for since, key in self.keys if since < size]
        return keys[-1] if keys else None

    # ---- the session

    def judge_session(self):
        ident = self.file["openings"][0]["session_id"]
        headers = iter(self.file["headers"])
        for one, name, kind in ((self.start, "start", "session_start"), (self.end, "end", "session_end")):
            if not one or not one.document:
                continue
            document, line, block = one.document, one.line, one.document["block"]
            details = line.details
            self.same(name, "session_id", ident, document["session_id"])
            self.same(name, "session_id", ident, line.session)
            self.same(name, "block hash", details["block"], block["hash"])
            self.same(name, "block height", line.int("btc"), block["height"])
            self.same(name, "BTC_HEIGHT", line.int("btc"), line.height)
            if self.network is not None and block["network"] != self.network:
                self.find("consistent+not_before", name, "network " + self.network, "network " + block["network"])
            getattr(self, "judge_" + name)(document, line, details)
            self.judge_block(name, block, line, headers)
        if next(headers, None) is not None:
            self.find("consistent", "headers", "one of each block that is not local", "more")
        entry = None
        for one in self.event("response"):
            if one.document:
                self.judge_record(one, one.document)
                entry = one.document
        if self.end and self.end.document:
            answers = [one.document for one in self.event("response") if one.document]
            if len(answers) > self.end.document["interactions"]:
                self.find("consistent", "end", "%d interactions or more" % len(answers), self.end.document["interactions"])
            elif entry and len(answers) == self.end.document["interactions"]:
                self.same("end", "final_chain_hash", entry["chain_entry"], self.end.document["final_chain_hash"])

    def judge_start(self, document, line, details):
        block = document["block"]
        made = hexhash(bytes.fromhex(document["auth_key_hash"]) + block["hash"].encode() + bytes.fromhex(document["prev_log"]))
        self.same("start", "session_id", made, document["session_id"])
        self.same("start", "branch", "branch-%d" % (block["height"] % 7 + 1), document["branch"])
        self.same("start", "branch", details["branch"], document["branch"])
        self.same("start", "auth_key_hash", details["auth"], document["auth_key_hash"])
        self.same("start", "HASH", next_hash(document["prev_log"], self.start.text.partition("|")[2]), line.hash)

    def judge_end(self, document, _line, details):
        final = bytes.fromhex(document["final_chain_hash"])
        close = hexhash(bytes.fromhex(document["session_id"]) + document["block"]["hash"].encode() + final)
        self.same("end", "session_close_hash", close, document["session_close_hash"])
        self.same("end", "close", details["close"], document["session_close_hash"])
        self.same("end", "interactions", int(details["interactions"]), document["interactions"])
        if document["interactions"] == 0:
            self.same("end", "final_chain_hash", ZERO, document["final_chain_hash"])

    def judge_record(self, one, document):
        line, details, place = one.line, one.line.details, "record of line %d" % one.index
        entry = chain_entry(bytes.fromhex(document["prev"]), document["prompt_hash"], document["response_hash"], document["timestamp"])
        for what, expected, key in (("chain", entry, "chain_entry"), ("chain", details["chain"], "chain_entry"),
                                    ("response", details["hash"], "response_hash"), ("seq", line.int("seq"), "seq"),
                                    ("model", details["model"], "model"), ("session", line.session, "session_id")):
            self.same(place, what, expected, document[key])

    def judge_block(self, name, block, line, headers):
        """The header of a start or end; what is wrong of the end's makes *not before* no as well."""
        marks = {block["hash"] == ZERO, block["height"] == 0, block["source"] == "local"}
        if len(marks) == 2:
            self.find("consistent+not_before", name, "64 zeros, height 0 and source local together", json.dumps(block, sort_keys=True))
            return
        if marks == {True}:
            return
        entry = next(headers, None)
        if entry is None:
            self.find("consistent+not_before", name, "a header of block %d" % block["height"], "none")
            return
        height, header = entry
        self.same(name, "the header's height", block["height"], height)
        self.fits(name, header, block["hash"], height, line.time)
        for fault in header_faults(header, block["hash"], block["height"], block["time"], self.network, self.epochs):
            self.find("consistent+not_before" if fault.startswith((OTHER_BLOCK, OTHER_TIME)) else "not_before", name,
                      "a header that shows the work of block %d" % block["height"], fault)
        if name == "start":
            self.start_seen = (height, header)

    def fits(self, name, header, block, height, stamp):
        seconds = int.from_bytes(bytes.fromhex(header)[68:72], "little")
        if stamp < seconds - AHEAD:
            self.find("consistent", name, "a line not from before its block, of " + stamp_text(seconds), stamp_text(stamp))
        if self.network == "bitcoin" and not fit(height, seconds):
            self.find("consistent", name, "a height and a time that belong together", "height %d and %s" % (height, stamp_text(seconds)))
        known = self.heights.setdefault(block, height)
        if known != height:
            self.find("consistent", name, "one height for block " + block, "%d and %d" % (known, height))

    # ---- the answers

    def commitments(self):
        self.words["commitment"] = ("yes", "key and text make the commitment that the lines carry")
        scheme = self.genesis.document["commitments"] if self.genesis and self.genesis.document else None
        if scheme is None:
            self.find("commitment", "genesis.json", "the scheme of commitments", "none that can be read")
        named = {}
        if any(opening["role"] in ("request", "reply") for opening, _ in self.pairs):
            named = self.named_in_exchanges(scheme)
        for n, (opening, carrier) in enumerate(self.pairs):
            place, carried = "opening %d" % (n + 1), None
            if carrier is not None:
                if opening["role"] in ("request", "reply"):
                    carried = named.get((opening["session_id"], opening["seq"]), {}).get(opening["role"])
                else:
                    carried = self.carried(opening, carrier)
                self.same(place, "commitment", carried, opening["commitment"], "commitment")
            if scheme is not None and (opening["key"] is None) != (scheme == "sha256"):
                self.find("commitment", place, "a key, and none under sha256: the ledger has " + scheme, "otherwise")
                continue
            self.same(place, "commitment", self.made(opening), opening["commitment"], "commitment")

    @staticmethod
    def carried(opening, carrier):
        """What the line, or its record.json, carries of a role."""
        key = CARRIERS[carrier.line.event, opening["role"]]
        if key:
            return carrier.line.details[key]
        return carrier.document[opening["role"] + "_hash"] if carrier.document else None

    @staticmethod
    def made(opening):
        text = opening["text"].encode("utf-8")
        return hexhash(text) if opening["key"] is None else hmac.new(bytes.fromhex(opening["key"]), text, hashlib.sha256).hexdigest()

    def named_in_exchanges(self, scheme):
        """The opened exchange documents by session and number: the first of each turn, if it is what was put on record."""
        found = {}
        for opening, carrier in self.pairs:
            turn = opening["session_id"], opening["seq"]
            if opening["role"] != "exchange" or turn in found:
                continue
            found[turn] = {}
            if carrier is None or scheme is None or (opening["key"] is None) != (scheme == "sha256"):
                continue
            if self.carried(opening, carrier) == self.made(opening) == opening["commitment"]:
                found[turn] = canonical_object(opening["text"].encode("utf-8")) or {}
        return found

    def tree_head(self):
        self.words["tree_head"] = ("yes", "signed by the key that genesis and rotations lead to")
        if not self.head or not self.keys:
            return
        _, note, _ = self.head
        self.same("head", "origin", self.origin, note[1], "consistent+tree_head")
        if not self.signed_with(note, self.in_force(note[2])):
            key = self.in_force(note[2])
            self.find("tree_head", "head", "a signature by " + (key_text(key) if key else "a key that rotations lead to"), "another")

    def has(self, about):
        return any(finding["question"] == about for finding in self.findings)

    def cosigned(self):
        self.words["cosigned_by"] = ("not checked", "no witness policy was given")
        if self.policy is None or self.head is None:
            return
        times, whole = [], True
        for called, name, moment in self.policy.cosigners(self.head, self.ed25519.verify):
            if moment is None:
                whole = False
                self.find("cosigned_by", "head", "a cosignature by the key of " + name, FORGED)
            else:
                times.append((called, moment))
        names = sorted({name for name, _ in times})
        listed = self.policy.knows(self.head[1], self.ed25519.verify)
        if whole and listed and self.policy.reached(names):
            self.words["cosigned_by"] = ("yes", ", ".join(names))
            latest = max([carrier.line.time for _, carrier in self.pairs if carrier], default=0)
            self.witnessed = self.policy.reached_at(times, latest)
            if self.witnessed is not None and self.start_seen and (
                    self.witnessed < int.from_bytes(bytes.fromhex(self.start_seen[1])[68:72], "little")):
                self.witnessed = None
        elif whole:
            self.words["cosigned_by"] = ("not checked", "the tree head has not the cosignatures that the policy asks for (it has: %s)" % (
                ", ".join(names) or "none"))

    def signer(self):
        key = self.in_force(self.head[1][2]) if self.head and self.keys else None
        self.key = key
        if self.pinned is None:
            self.words["signed_by"] = ("not checked", "unpinned: %s; pin it with --signer" % (key_text(key) if key else "no key"))
        elif key is None or self.has("tree_head") or key not in self.pinned:
            self.find("signed_by", "head", "a tree head by a key of --signer", key_text(key) if key else "no key")
            self.words["signed_by"] = ("no", "")
        elif key != self.pinned[-1]:
            self.words["signed_by"] = ("not checked", "retired: signed by an older key of --signer")
        else:
            self.words["signed_by"] = ("yes", "by the newest key of --signer")

    def unnamed_network(self):
        return self.network not in (None, "bitcoin", self.named_network)

    def height(self, about, place, header, height):
        """What is known of a block's height, a word of HEIGHTS; a chain of kept headers decides."""
        if self.headers_path and self.chain is None and self.network in EASIEST:
            self.chain = read_chain(self.headers_path, self.network, self.epochs)
        raw = bytes.fromhex(header)
        if not self.chain:
            return "cheap" if cheap(header, self.network, self.epochs) else "claimed"
        if height not in self.chain:
            return "beyond"
        if self.chain[height] == raw:
            return "proven"
        if about == "not_before" and height - 1 in self.chain and self.chain[height][4:36] == raw[4:36] and (
                self.chain[height][72:76] == raw[72:76]):
            return "orphaned"
        self.find(about, place, "the block at height %d" % height, "another")
        return "elsewhere"

    def named(self, height, header):
        return "block %d of %s" % (height, stamp_text(int.from_bytes(bytes.fromhex(header)[68:72], "little")))

    def not_before(self):
        self.words["not_before"] = ("not checked", "no anchor: the session started on no block")
        if not self.start:
            self.words["not_before"] = ("not checked", "the line is outside any session, so no block is bound to it")
        elif self.network is None:
            self.words["not_before"] = ("not checked", "no genesis says which network the block is of")
        elif self.unnamed_network():
            self.words["not_before"] = ("not checked", "a %s ledger: its blocks prove nothing" % self.network)
        elif not self.epochs and self.network == "bitcoin":
            self.words["not_before"] = ("not checked", "no genesis/btc-epochs.csv beside this script")
        elif self.start_seen:
            height, header = self.start_seen
            known = self.height("not_before", "start", header, height)
            answer = "not checked" if known in ("cheap", "beyond") else "yes"
            self.words["not_before"] = (answer, "the session started on %s%s" % (self.named(height, header), HEIGHTS[known]))

    def not_after(self):
        self.words["not_after"] = ("not checked", "the file carries no OpenTimestamps proof, and no witness of a policy was counted")
        for one in self.shown:
            # An outcome that stands beside its opened prompt may have one, too.
            wants = self.file["stamp"] is not None and one.line and (
                one.opened or one.index == 0 or one is self.start or one.line.event in ("response_fail", "denied"))
            rotation = one.line and one.line.event == "key_rotate"
            if one.more is not None and not wants and (not rotation or is_path(one.more)):
                self.find("consistent", "line %d" % one.index, "no proof under a stamped root", "one")
            elif one.more is not None and not rotation and not is_path(one.more):
                self.find("consistent", "line %d" % one.index, "a proof under a stamped root", "the tree head of a rotation")
        if self.file["stamp"] is not None:
            self.stamped(self.file["stamp"])
        if self.unnamed_network():
            self.words["not_after"] = ("not checked", "a %s ledger: its blocks prove nothing" % self.network)
        elif self.witnessed is not None and self.witnessed <= MAX_TIME and not self.has("not_after"):
            seen = "witnesses saw the tree by " + stamp_text(self.witnessed)
            answer, reason = self.words["not_after"]
            self.words["not_after"] = ("yes", reason + "; " + seen if answer == "yes" else seen)

    def stamped(self, stamp):
        text = stamp["checkpoint"].encode("utf-8")
        note = read_note(text)
        if note is None or not self.head or not self.keys:
            self.find("consistent+not_after", "stamp", "a checkpoint that is a signed note, and a head to hold it against", "otherwise")
            return
        self.same("stamp", "origin", self.origin, note[1], "consistent+not_after")
        if not self.signed_with(note, self.in_force(note[2])):
            self.find("consistent+not_after", "stamp", "a checkpoint by the key in force at its last line", "another signature")
        if note[2] > self.head[1][2]:
            self.find("consistent+not_after", "stamp", "no more lines than the head's %d" % self.head[1][2], note[2])
        elif note[2] == self.head[1][2] and note[3] != self.head[1][3]:
            self.find("consistent+not_after", "stamp", "root " + self.head[1][3].hex(), "root " + note[3].hex())
        for one in self.rotations:
            own = read_note(one.more[0].encode("utf-8")) if one.more and isinstance(one.more[1], list) else None
            if own and own[2] == note[2] and own[3] != note[3]:
                self.find("consistent+not_after", "stamp", "root " + own[3].hex(), "root " + note[3].hex())
        for one in self.shown:
            beside = one.line and one.line.event in ("response_fail", "denied") and is_path(one.more)
            if one.line and (one.opened or one.index == 0 or one is self.start or beside):
                path = one.more if is_path(one.more) else None
                if path is None or not includes(sha256(b"\0" + one.text.encode("utf-8")).digest(), one.index, note[2],
                                                [bytes.fromhex(node) for node in path], note[3]):
                    self.find("consistent+not_after", "line %d" % one.index, "a proof that the line is under the stamped root", "none that holds")
        try:
            proof = Proof(base64.b64decode(stamp["ots"]), sha256(text).digest(), lambda: self.budget.check("stamp"))
        except (NoProof, RecursionError) as fault:
            self.find("not_after", "stamp", "an OpenTimestamps proof of the checkpoint", fault)
            return
        blocks = [(height, message) for height, message in proof.blocks if height <= MAX_HEIGHT]
        if not blocks:
            self.find("not_after", "stamp", "an OpenTimestamps proof that leads to a Bitcoin block", "to none")
            return
        if self.unnamed_network():
            return
        self.attested(stamp["header"], blocks)

    def attested(self, header, blocks):
        if header is None:
            if self.headers_path and self.chain is None and self.network in EASIEST:
                self.chain = read_chain(self.headers_path, self.network, self.epochs)
            header = next((self.chain[height].hex() for height, _ in blocks if height in self.chain), None) if self.chain else None
        if header is None:
            self.words["not_after"] = ("not checked", "an OpenTimestamps proof is there, and not its block's header")
            return
        if any(message is None for _, message in blocks):
            self.words["not_after"] = ("not checked", "the OpenTimestamps proof needs " + NO_HASH)
            return
        raw = bytes.fromhex(header)
        height = min([height for height, message in blocks if message == raw[36:68]], default=None)
        if height is None:
            self.find("not_after", "stamp", "a header with the Merkle root that the proof leads to", raw[36:68][::-1].hex())
            return
        if not self.epochs and self.network == "bitcoin":
            self.words["not_after"] = ("not checked", "no genesis/btc-epochs.csv beside this script")
            return
        block = sha256(sha256(raw).digest()).digest()[::-1].hex()
        seconds = int.from_bytes(raw[68:72], "little")
        for fault in header_faults(header, block, height, None, self.network, self.epochs):
            self.find("not_after", "stamp", "a header that shows the work of block %d" % height, fault)
        if self.network == "bitcoin" and not fit(height, seconds):
            self.find("not_after", "stamp", "a height and a time that belong together", "height %d and %s" % (height, stamp_text(seconds)))
        if self.heights.setdefault(block, height) != height:
            self.find("consistent+not_after", "stamp", "one height for block " + block, "%d and %d" % (self.heights[block], height))
        for _, carrier in self.pairs:
            if carrier and carrier.line.time > seconds + AHEAD:
                self.find("not_after", "line %d" % carrier.index, "a TIMESTAMP no later than its block's, " + stamp_text(seconds),
                          carrier.line.stamp)
        if self.start_seen:
            begun = int.from_bytes(bytes.fromhex(self.start_seen[1])[68:72], "little")
            if height < self.start_seen[0] or seconds < begun:
                self.find("not_after", "stamp", "no block before the session's, %s" % self.named(*self.start_seen), self.named(height, header))
        known = self.height("not_after", "stamp", header, height)
        answer = "not checked" if known in ("cheap", "beyond") else "yes"
        self.words["not_after"] = (answer, "a tree head with the opened lines is in %s%s" % (self.named(height, header), HEIGHTS[known]))

    def report(self):
        self.words["consistent"] = ("yes", "the parts of the file fit together")
        for about in ABOUT:
            count = sum(finding["question"] == about for finding in self.findings)
            unasked = self.unnamed_network() and about in ("not_before", "not_after") or self.network is None and about == "not_before"
            if count and not unasked:
                self.words[about] = ("no", "%d finding%s" % (count, "" if count == 1 else "s"))
        first = self.file["openings"][0]
        return {"answers": {about: self.words[about][0] for about in ABOUT},
                "reasons": {about: self.words[about][1] for about in ABOUT}, "findings": self.findings[:FINDINGS_SHOWN],
                "network": self.network, "origin": self.head[1][1] if self.head else None,
                "tree_size": self.head[1][2] if self.head else None,
                "openings": [{"role": opening["role"], "seq": opening["seq"], "session": opening["session_id"],
                              "line": carrier and carrier.index + 1, "text": opening["text"]} for opening, carrier in self.pairs],
                "role": first["role"], "session": first["session_id"], "seq": first["seq"],
                "line": self.pairs[0][1] and self.pairs[0][1].text, "signer": key_text(self.key) if self.key else None,
                "text": first["text"]}


# What moves, hides or reorders what others see: controls, separators, directions, joiners, fillers, selectors, tags, halves.
UNSEEN = re.compile("[\0-\x08\x0a-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
                    "\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001345f"
                    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]")


def spelled_out(text):
    """One line for people: what a foreign ledger says may be meant for the terminal."""
    def halves(one):
        return "".join("\\u%04x" % half for half in memoryview(one.group().encode("utf-16", "surrogatepass")[2:]).cast("H"))
    return UNSEEN.sub(halves, text)


def say(text):
    """Tells people why, on standard error."""
    sys.stderr.write("verify: " + spelled_out(text) + "\n")


class Arguments(argparse.ArgumentParser):
    """Names of files are a stranger's, too."""

    def _print_message(self, message, file=None):
        super()._print_message("\n".join(map(spelled_out, message.split("\n"))) if message else message, file)


def print_opening(report, out):
    def put(line):
        out.write(spelled_out(line) + "\n")
    if report["network"] not in (None, "bitcoin"):
        put("Network: %s, a test network: its blocks are not Bitcoin's" % report["network"])
    for one in report["openings"]:
        put("Opened: %s %s of session %s, line %s" % (one["role"], "" if one["seq"] is None else one["seq"], one["session"], one["line"]))
    put("")
    for about in ABOUT:
        put("%-12s %s (%s)" % (about.replace("_", " ") + ":", report["answers"][about], report["reasons"][about]))
    for n, finding in enumerate(report["findings"]):
        put("")
        put("Finding %d (%s): %s" % (n + 1, finding["question"].replace("_", " "), finding["place"]))
        put("  expected: " + finding["expected"])
        put("  actual:   " + finding["actual"])
    for one in report["openings"]:
        put("")
        put("Text of %s:" % one["role"] if report["answers"]["commitment"] == "yes" else "Text, which does not open the commitment:")
        for line in one["text"].split("\n"):
            put("  " + line)


# ---------------------------------------------------------------- receipts, section 11

RECEIPT = {"chain_entry": or_null(is_hash), "checkpoint": is_text, "format": FORMAT, "line": is_hash, "log_head": is_hash,
           "seq": is_count, "session_id": is_hash, "signature": is_text}
ARMOR = re.compile(r"-----BEGIN SSH SIGNATURE-----\n((?:[A-Za-z0-9+/=]+\n)+)-----END SSH SIGNATURE-----\n\Z")


class Receipt:
    """What somebody kept. CannotLook when it can't be read, or was changed."""

    def __init__(self, path):
        self.name, self.there, self.line = path, None, None
        self.says = read_whole(path, MAX_RECEIPT, "receipt")
        fault = fields(self.says, RECEIPT)
        if fault:
            raise CannotLook("%s is no receipt: %s" % (path, fault))
        armor = ARMOR.match(self.says["signature"])
        signed = read_armor("".join(" " + line + "\n" for line in armor.group(1).splitlines()).encode()) if armor else None
        if signed is None:
            raise CannotLook("%s is no receipt: its signature is no SSH signature in namespace git" % path)
        self.key = signed[0]
        statement = jcs({key: value for key, value in self.says.items() if key != "signature"})
        message = b"SSHSIG" + SIGNED_AS + ssh_string(hashlib.sha512(statement).digest())
        if not Ed25519().verify(self.key, message, signed[1]):
            raise CannotLook("%s: its signature does not hold: the receipt was changed" % path)
        note = read_note(self.says["checkpoint"].encode("utf-8"))
        if note is None or note[4] != key_id(note[1], LOG_KEY, self.key) or not Ed25519().verify(self.key, note[0], note[5]):
            raise CannotLook("%s: its tree head is not signed by the key that signed the receipt" % path)
        _, self.origin, self.size, self.root, _, _ = note

    def take(self, check, line):
        """The log after its newest line, which is None when it can't be read."""
        if check.number == self.size:
            self.there = (check.head, check.tree.root().hex())
        if line and line.hash == self.says["line"]:
            chain = line.details["chain"] if line.event == "response" else None
            known = line.event in ("response", "response_fail", "denied")
            self.line = (check.number, (line.session, line.int("seq"), chain) if known else None)

    def judge(self, check):
        place, says = "receipt " + self.name, self.says
        before = sum(check.counts.values())
        self.hold(check, place, says)
        if sum(check.counts.values()) != before:
            check.contradicted_by.add(place)

    def hold(self, check, place, says):
        if check.origin is not None and check.origin != self.origin:
            check.find("signed_by", place, "a receipt of " + check.origin, "one of " + self.origin)
        if check.first_key is not None:
            known = self.key in [key for _, key in check.keys_by_line] if self.size > check.number else (
                self.key == check.in_force(self.size))
            if not known:
                check.find("signed_by", place, "a signature by the key in force at line %d" % self.size, "one by " + key_text(self.key))
        if self.there is None:
            check.find("complete", place, "%d lines or more, as its owner has signed" % self.size, "%d lines" % check.number)
            return
        head, root = self.there
        for what, expected, actual in (("HASH", says["log_head"], head), ("root", self.root.hex(), root)):
            if expected != actual:
                check.find("unique", place, "%s %s at line %d" % (what, expected, self.size), actual)
        due = (says["session_id"], says["seq"], says["chain_entry"])
        if not self.line or self.line[0] > self.size or self.line[1] != due:
            check.find("unique", place, "line %s: the outcome of prompt %d of session %s" % (
                says["line"], says["seq"], says["session_id"]), self.line or "no such line up to there")


def print_text(report, out):
    def put(line):
        out.write(spelled_out(line) + "\n")
    test = report["network"] not in (None, "bitcoin")
    if test:
        put("Network: %s, a test network: its blocks are not Bitcoin's" % report["network"])
    put("Genesis: %s" % (report["genesis"] or "unreadable"))
    put("Entries: %d" % report["entries"])
    put("Chain integrity: %s" % report["chain_integrity"])
    put("BTC anchors: %d%s" % (report["btc_anchors"], " (%s)" % report["network"] if test else ""))
    put("Sessions: %d" % report["sessions"])
    put("")
    for question in QUESTIONS:
        put("%-12s %s (%s)" % (question.replace("_", " ") + ":", report["answers"][question], report["reasons"][question]))
    for clock in report["clock_sets"]:
        put("clock set:   line %d, from %s to %s" % (clock["line"], clock["before"], clock["to"]))
    if report["lines_unsigned"]:
        put("signed by nobody: lines %d to %d" % (report["signed_through"] + 1, report["signed_through"] + report["lines_unsigned"]))
    if report["lines_newer"]:
        put("newer, not read: %d lines" % report["lines_newer"])
    if report["foreign_refs"]:
        put("other refs:  %d, not read" % report["foreign_refs"])
    for remark in report["remarks"]:
        put("remark:      " + remark)
    for n, finding in enumerate(report["findings"]):
        put("")
        put("Finding %d (%s): %s" % (n + 1, finding["question"].replace("_", " "), finding["place"]))
        put("  expected: " + finding["expected"])
        put("  actual:   " + finding["actual"])
    if report["more_findings"]:
        put("")
        put("and %d more" % report["more_findings"])


def show(report, as_json, printer, code):
    """Prints a report, and gives the exit code."""
    if as_json:
        json.dump(report, sys.stdout)
        sys.stdout.write("\n")
    else:
        sys.stdout.reconfigure(encoding="utf-8", errors="replace")
        printer(report, sys.stdout)
    sys.stdout.flush()
    return code


def read_requirements(texts, names):
    """[(question, line or None)] of --require."""
    found = []
    for text in ",".join(texts).split(",") if texts else []:
        match = re.match(r"([a-z_-]+)(?::([1-9][0-9]{0,15}))?\Z", text)
        name = match and {"signed": "signed_by", "cosigned": "cosigned_by"}.get(match.group(1), match.group(1).replace("-", "_"))
        if name not in names or match.group(2) and (name not in ("unique", "not_after") or names is ABOUT):
            raise CannotLook("--require '%s': one of %s; unique and not-after may name a line, not-after:120" % (
                text, ", ".join(n.replace("_", "-") for n in names)))
        found.append((name, int(match.group(2)) if match.group(2) else None))
    return found


def unmet(report, required):
    """The required answers that are not yes: partly is enough for a line that it covers."""
    missing = []
    for name, line in required:
        answer = report["answers"][name]
        reached = answer == "yes"
        if line is not None:
            reached = answer in ("yes", "partly") and line <= min(report["extents"][name], report["extents"]["complete"])
        if not reached:
            missing.append(name.replace("_", "-") + (":%d" % line if line is not None else ""))
    return missing


def states(git, check):
    """What a writer changes: the tree head beside the log, and how long the log is."""
    raw = None
    if check.checkpoint_path and os.path.lexists(check.checkpoint_path):
        with open_regular(check.checkpoint_path) as file:
            raw = file.read(MAX_HEAD + 1)
    size = os.lstat(check.log_path).st_size if check.log_path and os.path.lexists(check.log_path) else 0
    return raw, size, git.refs() if git else None


TRIES = 10


def judge(args, pinned, policy, heads, receipts):
    """One look; looked at anew while a writer was at work and something seems wrong."""
    checkpoint = args.checkpoint or (os.path.join(os.path.dirname(args.log), "audit.checkpoint") if args.log else None)
    for attempt in range(TRIES):
        git = Git(args.repository) if args.repository else None
        try:
            check = Check(git, args.log, pinned, args.every_signature, policy, heads, args.headers, checkpoint, args.network)
            check.receipts = [Receipt(path) for path in receipts]
            before = states(git, check) if git else None
            check.run()
            if git and (check.unsigned or any(check.counts.values())) and args.log:
                changed = states(git, check) != before
                if not changed and check.unsigned and not any(check.counts.values()):
                    time.sleep(0.3)
                    changed = states(git, check) != before
                if changed and any(check.counts.values()) and attempt < TRIES - 1:
                    continue
                check.newer = changed
            return check, check.report()
        finally:
            if git:
                git.close()
    raise AssertionError


def main():
    parser = Arguments(description="Checks a gently ledger, sharing no code with gently.",
                       epilog="Exit 0: consistent and complete, and no line is signed by nobody; 1: not, or an answer "
                              "that --require names is not yes, or a receipt or tree head that was given says otherwise; 2: "
                              "nothing could be judged.")
    parser.add_argument("repository", metavar="REPO-OR-BUNDLE", nargs="?", help="a clone or a bundle of ledger.git")
    parser.add_argument("--log", metavar="FILE", help="the log file that belongs to it; alone: judge only its lines")
    parser.add_argument("--checkpoint", metavar="FILE", help="the signed tree head of that log; else audit.checkpoint beside it")
    parser.add_argument("--signer", metavar="KEY-OR-FILE", action="append", default=[],
                        help="a key the ledger may be signed by, the newest last; or a file of them, as allowed_signers is")
    parser.add_argument("--headers", metavar="FILE-OR-FOLDER", help="kept headers of Bitcoin blocks: NETWORK-START.dat")
    parser.add_argument("--policy", metavar="FILE", help="whose cosignatures make unique (of an opening: cosigned by) a yes")
    parser.add_argument("--head", metavar="FILE", action="append", default=[], help="a tree head that somebody kept")
    parser.add_argument("--network", metavar="NAME", help="a test network whose blocks are to count")
    parser.add_argument("--require", metavar="ANSWER", action="append", default=[], help="an answer that must be yes: not-before, not-after:120, …")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--every-signature", action="store_true", help="ask ssh-keygen about every commit, not a sample")
    parser.add_argument("--opening", metavar="FILE", help="check an opening file, which `gently audit open` wrote, and no ledger")
    parser.add_argument("--receipt", metavar="FILE", action="append", default=[], help="a receipt that the ledger must continue")
    args = parser.parse_args()
    if bool(args.opening) == bool(args.repository or args.log):
        parser.error("name a repository, a bundle, a log with --log, or an opening file with --opening")
    if args.receipt and not args.repository:
        parser.error("--receipt is held against a repository or a bundle")
    try:
        if args.headers and not os.path.isdir(args.headers):
            open_regular(args.headers).close()
        pinned = [key for text in args.signer for key in read_signers(text)] or None
        policy = read_policy(args.policy) if args.policy else None
        if args.opening:
            required = read_requirements(args.require, ABOUT)
            opened = CheckOpening(args.opening, pinned, policy, args.headers, args.network)
            report = opened.report()
            missing = unmet(report, required)
            due = ("consistent", "commitment", "tree_head") + (("signed_by",) if pinned else ())
            code = 1 if missing or any(report["answers"][name] != "yes" for name in due) else 0
            code = show(report, args.json, print_opening, code)
        else:
            required = read_requirements(args.require, QUESTIONS)
            heads = [(place, read_head(place)) for place in args.head]
            check, report = judge(args, pinned, policy, heads, args.receipt)
            for place, (_, parts, _) in heads:
                if check.origin is not None and parts[1] != check.origin:
                    raise CannotLook("%s is of the log '%s', and this one is '%s'" % (place, parts[1], check.origin))
            missing = unmet(report, required)
            wrong = report["contradicted_by"] or "no" in (report["answers"]["consistent"], report["answers"]["complete"])
            if args.repository:
                wrong = wrong or report["lines_unsigned"] or any(report["answers"][q] != "yes" for q in ("consistent", "complete"))
            code = show(report, args.json, print_text, 1 if wrong or missing else 0)
            if report["contradicted_by"]:
                say("what was kept of this ledger contradicts it: " + ", ".join(report["contradicted_by"]))
        if missing:
            say("required to be yes: " + ", ".join(missing))
        return code
    except MemoryError:
        say("refused: it takes more memory than there is")
        return 2
    except (CannotLook, OSError) as error:
        say(str(error))
        return 2


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(2)
    except Exception as fault:  # a fault of this script is no verdict
        say("this script failed: %r" % fault)
        if os.environ.get("VERIFY_TRACE"):
            raise
        sys.exit(2)
