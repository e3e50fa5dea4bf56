#!/usr/bin/env python3
"""Makes one honest ledger and many tampered ones, for the two verifiers to agree on.

    make_ledgers.py FOLDER      writes FOLDER/NAME/{ledger.git,audit.log,audit.checkpoint} and FOLDER/index.json
    make_ledgers.py FOLDER NAME…|--ledgers|--openings      some of them
    make_ledgers.py --list

Every tamper is a function below; its name is the ledger's. One that works with the key changes what is
written while it is written, so that everything after it is hashed, chained and signed anew, as the owner
of the ledger could; the others change files afterwards. The first words of a tamper's comment name the
questions whose answer must not be yes; `none` means that nobody can see it without an outside witness.

The keys are the seeds 11 x 32 and 22 x 32. Only the arithmetic of Ed25519 is shared with
scripts/verify.py; git is not needed to make the ledgers.
"""
import base64
import hashlib
import hmac
import importlib.util
import json
import os
import re
import shutil
import sys
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
SPEC = importlib.util.spec_from_file_location("verify", os.path.join(HERE, "..", "..", "..", "scripts", "verify.py"))
sys.dont_write_bytecode = True
V = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(V)

ZERO, GENESIS = "0" * 64, V.GENESIS
START = 1707113500
KERNEL = hashlib.sha256(b"kernel").hexdigest()


def h(data):
    return hashlib.sha256(data).hexdigest()


def jcs(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode()


BASE = V.Multiples(V.decompress((4 * pow(5, V.P - 2, V.P) % V.P).to_bytes(32, "little")))


class Key:
    """An Ed25519 key that signs."""

    def __init__(self, seed):
        digest = hashlib.sha512(seed).digest()
        self.scalar = int.from_bytes(digest[:32], "little") & ~7 & (1 << 254) - 1 | 1 << 254
        self.prefix, self.public = digest[32:], self.point(self.scalar)

    @staticmethod
    def point(n):
        x, y, z, _ = BASE.add_times(n % V.L, V.IDENTITY)
        z = pow(z, V.P - 2, V.P)
        return (y * z % V.P | (x * z % V.P & 1) << 255).to_bytes(32, "little")

    def sign(self, message):
        r = int.from_bytes(hashlib.sha512(self.prefix + message).digest(), "little") % V.L
        point = self.point(r)
        k = int.from_bytes(hashlib.sha512(point + self.public + message).digest(), "little") % V.L
        return point + ((r + k * self.scalar) % V.L).to_bytes(32, "little")

    @property
    def text(self):
        return V.key_text(self.public)


FIRST, SECOND, STRANGER = Key(b"\x11" * 32), Key(b"\x22" * 32), Key(b"\x33" * 32)


def real_blocks():
    """Blocks of mainnet, by height: those of tests/data/btc."""
    blocks = {}
    with open(os.path.join(HERE, "..", "btc", "headers.csv"), encoding="ascii") as file:
        for row in list(file)[1:]:
            height, block, header = row.strip().split(",")
            blocks[int(height)] = (block, header)
    return blocks


BLOCKS = real_blocks()
# Neighbours, so that a session can start on one and end on the next.
HEIGHTS = next([n, n + 1, n + 2, n + 3] for n in sorted(BLOCKS) if all(n + i in BLOCKS for i in range(4)) and n > 800000)


def block_at(height, time, network):
    if height == 0:
        return {"hash": ZERO, "height": 0, "network": network, "source": "local", "time": time}
    block, header = BLOCKS[height]
    return {"hash": block, "height": height, "network": network, "source": "file",
            "time": int.from_bytes(bytes.fromhex(header)[68:72], "little")}


def mine(bits, time, root=hashlib.sha256(b"home-made").digest(), prev=bytes(32)):
    """A header with a target that this machine meets."""
    size, target = bits >> 24, (bits & 0xffffff) << 8 * ((bits >> 24) - 3)
    assert size > 3
    for nonce in range(1 << 20):
        raw = b"\0" * 3 + b" " + prev + root + time.to_bytes(4, "little") + bits.to_bytes(
            4, "little") + nonce.to_bytes(4, "little")
        work = hashlib.sha256(hashlib.sha256(raw).digest()).digest()[::-1]
        if int.from_bytes(work, "big") <= target:
            return work.hex(), raw.hex()
    raise AssertionError


def signed_note(origin, size, root, key):
    text = ("%s\n%d\n%s\n" % (origin, size, base64.b64encode(root).decode())).encode()
    key_id = hashlib.sha256(origin.encode() + b"\n\x01" + key.public).digest()[:4]
    signature = base64.b64encode(key_id + key.sign(text)).decode()
    return text + ("\n\u2014 %s %s\n" % (origin, signature)).encode()


def regtest_block(height, time, root=hashlib.sha256(b"home-made").digest()):
    block, header = mine(0x207fffff, time, root)
    return {"hash": block, "height": height, "network": "regtest", "source": "file", "time": time}, header


# A key and a text, ground until the SHA-256 inside of their HMAC is spelled in UTF-8. Then the bytes that HMAC hashes last
# are a text, too, and its SHA-256 is the same commitment.
GROUND = (bytes(byte ^ 0x5c for byte in b"Two texts by one commitment? No."), b"I agree to all of it, reference 120518441")
TWIN = bytes(byte ^ 0x5c for byte in GROUND[0]) + b"\x5c" * 32 + hashlib.sha256(
    bytes(byte ^ 0x36 for byte in GROUND[0]) + b"\x36" * 32 + GROUND[1]).digest()


class Ledger:
    """Writes a ledger in memory. `hook(what, which, value)` may change everything on its way."""

    def __init__(self, hook=None, network="bitcoin", origin="test/second", key=None, scheme="hmac-sha256"):
        self.hook, self.scheme = hook or (lambda what, which, value: value), scheme
        self.network, self.origin, self.key = network, origin, key or FIRST
        self.objects, self.refs, self.counts = {}, {}, {}
        self.lines, self.head, self.time, self.highest, self.in_segments = [], GENESIS, START, 0, 0
        self.sessions, self.branches, self.last_branch, self.allowed = {}, set(), None, b""
        self.main, self.mains, self.reach = None, 0, {}
        self.heights = {}
        self.packed = None          # packed-refs, when the refs stand there
        self.sealed, self.rotated = None, (0, None)     # audit.checkpoint; the last rotation's line and the key before it
        self.records, self.heads = {}, {}  # documents by their hash; tree heads by their size
        self.texts, self.made = {}, {}     # what opens a commitment; blocks of a test network, by height
        self.extra = []             # what else is done to the folder once it is written

    def touch(self, what, which, value):
        """`which` is the name and how often it came: 'response#2'."""
        n = self.counts[what, which] = self.counts.get((what, which), 0) + 1
        return self.hook(what, "%s#%d" % (which, n), value)

    # -- git

    def put(self, kind, data):
        raw = ("%s %d\0" % (kind, len(data))).encode() + data
        name = hashlib.sha1(raw).hexdigest()
        self.objects[name] = raw
        return name

    def tree(self, files):
        raw = b""
        for name in sorted(files):
            mode, data = files[name] if isinstance(files[name], tuple) else ("100644", files[name])
            kind = "tree" if mode == "40000" else "blob"
            raw += mode.encode() + b" " + name.encode() + b"\0" + bytes.fromhex(self.put(kind, data))
        return self.put("tree", raw)

    def commit(self, kind, files, subject, trailers, parents, time):
        files = self.touch("files", kind, dict(files)) if isinstance(files, dict) else files
        tree = self.tree(files) if isinstance(files, dict) else files
        tree = self.touch("tree", kind, tree)
        message = self.touch("message", kind, subject + "\n\n" + "".join("%s: %s\n" % t for t in trailers))
        parents = self.touch("parents", kind, list(parents))
        who = self.touch("author", kind, "gently <ledger@gently.invalid> %d +0000" % time)
        head = "tree %s\n%sauthor %s\ncommitter %s\n" % (tree, "".join("parent %s\n" % p for p in parents), who, who)
        payload = (head + "\n" + message).encode()
        key = self.touch("key", kind, self.key)
        rest = V.ssh_string(b"git") + V.ssh_string(b"") + V.ssh_string(b"sha512")
        signature = key.sign(b"SSHSIG" + rest + V.ssh_string(hashlib.sha512(payload).digest()))
        signature = self.touch("signature", kind, signature)
        blob = (b"SSHSIG\0\0\0\1" + V.ssh_string(V.ssh_string(b"ssh-ed25519") + V.ssh_string(key.public)) + rest
                + V.ssh_string(V.ssh_string(b"ssh-ed25519") + V.ssh_string(signature)))
        armor = base64.b64encode(blob).decode()
        width = self.touch("width", kind, 70)
        lines = "".join(" " + armor[i:i + width] + "\n" for i in range(0, len(armor), width))
        raw = "%sgpgsig -----BEGIN SSH SIGNATURE-----\n%s -----END SSH SIGNATURE-----\n\n%s" % (head, lines, message)
        return self.put("commit", self.touch("commit", kind, raw.encode()))

    # -- log

    def line(self, event, session, details, height=None):
        """Appends a line; the commit that it needs is made by the caller."""
        if height is None:
            height = self.sessions[session]["height"] if session else self.highest
        details = self.touch("details", event, list(details))
        stamp = self.touch("stamp", event, self.stamp())
        text = ",".join("%s:%s" % (k, v) for k, v in details) or "-"
        rest = "%s|%s|%s|%s|%s" % (height, stamp, event, session or "-", text)
        rest = self.touch("rest", event, rest)
        if rest is None:
            return None
        for one in rest if isinstance(rest, list) else [rest]:
            self.head = h(("%s|%s" % (self.head, one)).encode())
            self.lines.append(("%s|%s\n" % (self.head, one)).encode())
        self.highest = max(self.highest, height)
        return self.head

    def stamp(self):
        import datetime
        return datetime.datetime.fromtimestamp(self.time, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")

    def document(self, kind, document):
        document = self.touch("document", kind, document)
        raw = self.touch("json", kind, jcs(document))
        self.records[h(raw)] = raw
        return document, raw

    def key_at(self, size):
        """The key in force at the last of so many lines."""
        line, old = self.rotated
        return old if size <= line else self.key

    def segment(self):
        segment = b"".join(self.lines[self.in_segments:])
        self.in_segments = len(self.lines)
        segment = self.touch("segment", "main", segment)
        return {"audit.log": segment, "checkpoint": self.tree_head("main", self.key)}

    def tree_head(self, which, key, size=None):
        """The signed note over the first lines, or all of them."""
        tree = V.TreeHash()
        for line in self.lines[:size]:
            tree.add(line[:-1])
        size, root = self.touch("root", which, (tree.size, tree.root()))
        note = signed_note(self.origin, size, root, self.touch("note_key", which, key))
        self.heads[size] = self.touch("note", which, note)
        return self.heads[size]

    def seal(self):
        """audit.checkpoint: over all lines, by the key in force at the last; a rotation's line is the old key's."""
        self.sealed = self.tree_head("log", self.key_at(len(self.lines)))

    # -- what a writer does

    def commit_to(self, text, scheme="hmac-sha256"):
        """A commitment, and what opens it: (key, text)."""
        key = (GROUND[0].hex() if text == GROUND[1] else h(b"key of " + text)) if scheme == "hmac-sha256" else None
        made = hmac.new(bytes.fromhex(key), text, hashlib.sha256).hexdigest() if key else h(text)
        self.texts[made] = (key, text.decode())
        return made

    def genesis(self):
        self.allowed = V.signer_line(self.key.text)
        document, raw = self.document("genesis", {
            "commitments": self.scheme, "created_at": self.time, "format": "gently/1", "genesis": GENESIS,
            "network": self.network, "origin": self.origin, "signer": self.key.text})
        log = self.line("genesis", None, [("record", h(raw))], 0)
        self.move_main(self.commit("genesis", {"genesis.json": raw, "allowed_signers": self.allowed}, "genesis",
                                   [("Record", h(raw)), ("Log", log)], [], self.time))

    def move_main(self, oid):
        self.main = self.refs["refs/heads/main"] = oid
        self.mains += 1

    def block(self, height, which):
        block = self.touch("block", which, self.made[height][0] if height in self.made else block_at(height, self.time, self.network))
        self.heights[block["height"]] = block
        return block

    def header(self, block, which):
        known = self.made.get(block["height"]) or BLOCKS.get(block["height"])
        text = known[1] if known else ""
        text = self.touch("header", which, text)
        return {} if block["source"] == "local" else {"btc_header": (text + "\n").encode()}

    def start(self, height, auth):
        prev, auth_hash = self.head, h(auth)
        block = self.block(height, "session_start")
        ident = h(bytes.fromhex(auth_hash) + block["hash"].encode() + bytes.fromhex(prev))
        ident = self.touch("id", "session_start", ident)
        branch = self.touch("branch", "session_start", "branch-%d" % (block["height"] % 7 + 1))
        document, raw = self.document("session_start", {
            "auth_key_hash": auth_hash, "block": block, "branch": branch, "format": "gently/1", "host_role": "workstation",
            "kernel_hash": KERNEL, "model": "observer", "opened_at": self.time, "phase": "active", "prev_log": prev,
            "session_id": ident, "tier": 2})
        session = self.sessions[ident] = {"id": ident, "branch": branch, "height": block["height"], "final": ident,
                                          "answers": 0, "seq": 0, "prompts": {}}
        log = self.line("session_start", ident, [("btc", block["height"]), ("branch", branch), ("block", block["hash"]),
                                                 ("auth", auth_hash), ("record", h(raw))])
        ref = "refs/heads/" + branch
        if ref not in self.refs:
            self.line("branch_create", ident, [("branch", branch)])
            parents = [self.main]
        else:
            if self.last_branch != branch:
                self.line("branch_switch", ident, [("from", self.last_branch), ("to", branch)])
            parents = [self.refs[ref]] + ([self.main] if self.reach[branch] < self.mains else [])
        self.line("auth_ok", ident, [("auth", auth_hash[:16])])
        self.last_branch, self.reach[branch] = branch, self.mains
        files = {"session.json": raw, **self.header(block, "session_start")}
        self.refs[ref] = self.commit("session_start", files, "session_start:%s:btc-%d" % (ident[:16], block["height"]),
                                     [("Session", ident), ("Record", h(raw)), ("Log", log)], parents, self.time)
        return session

    def tick(self, seconds=10):
        self.time += seconds

    def prompt(self, session):
        self.tick()
        session["seq"] += 1
        commitment = self.commit_to(self.touch("text", "prompt", b"prompt %d" % len(self.lines)), self.scheme)
        session["prompts"][session["seq"]] = (commitment, self.time)
        self.line("prompt", session["id"], [("hash", commitment), ("seq", session["seq"])])
        return session["seq"]

    def answer(self, session, seq, **drift):
        self.tick()
        prompt, asked = session["prompts"][seq]
        response = self.commit_to(b"response %d" % len(self.lines), self.scheme)
        exchange = self.commit_to(b"exchange of line %d" % len(self.lines), self.scheme)
        entry = h(bytes.fromhex(session["final"] + prompt + response) + self.time.to_bytes(8, "big"))
        entry = self.touch("entry", "response", entry)
        validator = {"authority_drift": False, "completeness_drift": False, "evidence_drift": False, "schema_ok": True,
                     "tone_drift": False, **drift}
        document, raw = self.document("response", {
            "asked_at": asked, "authority_state": "ok", "chain_entry": entry, "exchange_hash": exchange,
            "format": "gently/1", "kernel_hash": KERNEL, "model": "observer", "prev": session["final"], "prompt_hash": prompt,
            "refusal": False, "response_hash": response, "seq": seq, "session_id": session["id"], "timestamp": self.time,
            "validator": validator})
        log = self.line("response", session["id"], [("hash", response), ("seq", seq), ("model", "observer"), ("chain", entry),
                                                    ("record", h(raw))])
        for name, flag in drift.items():
            name = name.split("_")[0]
            if flag == (name != "schema"):
                self.line("drift", session["id"], [("class", name), ("severity", "low"), ("seq", seq), ("id", "drift-%d" % seq)])
        session["final"], session["answers"] = entry, session["answers"] + 1
        files = {"record.json": raw, "chain_entry": (entry + "\n").encode(), "prompt_hash": (prompt + "\n").encode(),
                 "response_hash": (response + "\n").encode(), "session": (session["id"] + "\n").encode()}
        ref = "refs/heads/" + session["branch"]
        self.refs[ref] = self.commit("interaction", files, "interaction-%d" % seq, [
            ("Session", session["id"]), ("Seq", seq), ("Chain", entry), ("Record", h(raw)), ("Log", log)], [self.refs[ref]], self.time)

    def ask(self, session, **drift):
        self.answer(session, self.prompt(session), **drift)

    def fail(self, session, seq, reason="timeout"):
        self.tick()
        self.line("response_fail", session["id"], [("seq", seq), ("model", "a%2Cb %C3%A9"), ("reason", reason),
                                                   ("exchange", self.commit_to(b"failed %d" % seq, self.scheme))])

    def deny(self, session):
        seq = self.prompt(session)
        self.line("denied", session["id"], [("seq", seq), ("reason", "policy.secrets"), ("exchange", self.commit_to(b"denied %d" % seq, self.scheme))])

    def anchor(self, session, height):
        self.tick()
        block = self.block(height, "btc_anchor")
        header = self.touch("header", "btc_anchor", (self.made.get(block["height"]) or BLOCKS.get(block["height"], ("", "")))[1])
        session["height"] = block["height"]
        self.line("btc_anchor", session["id"], [("btc", block["height"]), ("block", block["hash"]), ("header", header)])

    def end(self, session, height):
        self.tick()
        block = self.block(height, "session_end")
        session["height"] = block["height"]
        final = session["final"] if session["answers"] else ZERO
        close = h(bytes.fromhex(session["id"]) + block["hash"].encode() + bytes.fromhex(final))
        close = self.touch("close", "session_end", close)
        document, raw = self.document("session_end", {
            "block": block, "closed_at": self.time, "final_chain_hash": final, "format": "gently/1",
            "interactions": session["answers"], "session_close_hash": close, "session_id": session["id"]})
        log = self.line("session_end", session["id"], [("btc", block["height"]), ("interactions", session["answers"]),
                                                       ("block", block["hash"]), ("close", close), ("record", h(raw))])
        ref = "refs/heads/" + session["branch"]
        files = {"close.json": raw, **self.header(block, "session_end"), **self.segment()}
        trailers = [("Session", session["id"]), ("Close", close), ("Record", h(raw)), ("Log", log)]
        end = self.commit("session_end", files, "session_end:%s:btc-%d" % (close[:16], block["height"]), trailers,
                          [self.refs[ref]], self.time)
        tree = self.objects[end].split(b"\0", 1)[1][5:45].decode()
        self.refs[ref] = end
        self.move_main(self.commit("close", tree, "close:" + session["id"][:16], trailers, [self.main, end], self.time))
        del self.sessions[session["id"]]

    def checkpoint(self):
        self.tick()
        block = self.heights.get(self.highest) if self.highest else block_at(0, self.time, self.network)
        head = self.head
        document, raw = self.document("checkpoint", {"block": block, "created_at": self.time, "format": "gently/1",
                                                     "log_head": head, "sessions_open": len(self.sessions)})
        log = self.line("checkpoint", None, [("record", h(raw))])
        self.move_main(self.commit("checkpoint", {"checkpoint.json": raw, **self.segment()}, "checkpoint:" + head[:16],
                                   [("Record", h(raw)), ("Log", log)], [self.main], self.time))

    def rotate(self, new):
        self.tick()
        document, raw = self.document("key_rotate", {"created_at": self.time, "format": "gently/1", "new_signer": new.text,
                                                     "old_signer": self.key.text})
        log = self.line("key_rotate", None, [("record", h(raw))])
        self.allowed += V.signer_line(new.text)
        files = {"rotate.json": raw, "allowed_signers": self.allowed, **self.segment()}
        self.move_main(self.commit("key_rotate", files, "key_rotate:" + h(new.public)[:16], [("Record", h(raw)), ("Log", log)],
                                   [self.main], self.time))
        self.rotated, self.key = (len(self.lines), self.key), new

    def plain(self, event, details, session=None):
        self.tick()
        self.line(event, session and session["id"], details)

    def write(self, folder):
        git = os.path.join(folder, "ledger.git")
        for part in ("objects/info", "objects/pack", "refs/heads"):
            os.makedirs(os.path.join(git, part))
        put(os.path.join(git, "HEAD"), b"ref: refs/heads/main\n")
        put(os.path.join(git, "config"), b"[core]\n\trepositoryformatversion = 0\n\tbare = true\n")
        for name, raw in self.objects.items():
            put(os.path.join(git, "objects", name[:2], name[2:]), zlib.compress(raw, 1))
        for name, oid in self.refs.items():
            put(os.path.join(git, name), (oid + "\n").replace("\0\n", "").encode())
        if self.packed is not None:
            put(os.path.join(git, "packed-refs"), self.packed)
        if self.sealed is None:
            self.seal()
        put(os.path.join(folder, "audit.log"), b"".join(self.lines))
        if self.sealed:
            put(os.path.join(folder, "audit.checkpoint"), self.sealed)
        for change in self.extra:
            change(folder)


def put(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


def scenario(hook=None, network="bitcoin", origin="test/second", auth=b"auth"):
    """A ledger with everything in it: two sessions open together, a rotation, an open tail."""
    a, b, c, d = HEIGHTS
    one = Ledger(hook, network, origin)
    real = (lambda height: height) if network == "bitcoin" else (lambda height: 0)
    one.genesis()
    one.plain("artifact", [("kind", "kernel"), ("id", "kernel-1"), ("hash", KERNEL)])
    one.checkpoint()
    first = one.start(real(a), auth + b" 1")
    one.ask(first)
    one.ask(first, tone_drift=True)
    other = one.start(real(b), auth + b" 2")
    waiting = one.prompt(first)
    one.ask(other)
    one.fail(first, waiting)
    one.deny(other)
    if network == "bitcoin":
        one.anchor(first, c)
    one.ask(first, schema_ok=False, evidence_drift=True)
    one.checkpoint()
    one.plain("auth_fail", [("reason", "wrong"), ("count", 2)])
    one.end(first, real(c))
    local = one.start(0, auth + b" 3")
    one.plain("artifact", [("kind", "fact"), ("id", "fact-1"), ("hash", h(b"fact"))], local)
    one.ask(local)
    one.fail(local, one.prompt(local), "compile.budget")
    one.end(local, 0)
    one.end(other, real(b))
    one.plain("recover", [("applied", 1)])
    one.rotate(SECOND)
    last = one.start(real(d), auth + b" 4")
    one.ask(last)
    one.end(last, real(d))
    tail = one.start(real(a), auth + b" 5")
    one.ask(tail)
    one.ask(tail, tone_drift=True)
    one.plain("some_future_event", [("what", "anything at all")], tail)
    return one


# ---------------------------------------------------------------- tampers

TAMPERS = {}


def tamper(*questions, log=True, **more):
    """Registers a way to cheat. Its answer to none of the questions may be yes. `options` are given to both verifiers,
    `signers` are what the checker pins (else the two keys), `code` is the exit code where it is not what the questions say,
    `yes` names answers that must be."""
    def register(function):
        add(function.__name__, function, questions, log, **more)
        return function
    return register


def add(name, function, questions, log=True, **more):
    assert name not in TAMPERS, name
    TAMPERS[name] = (function, questions, log, more)


def hooked(what, which, change):
    """A hook that changes one value once."""
    def hook(on, name, value):
        return change(value) if (on, name) == (what, which) else value
    return hook


def with_key(name, what, which, change, *questions, **more):
    """A tamper that is one changed value, everything after it made anew."""
    def function(folder):
        scenario(hooked(what, which, change)).write(folder)
    add(name, function, questions, **more)


def afterwards(name, change, *questions, **more):
    """A tamper that changes the files of an honest ledger."""
    def function(folder):
        one = scenario()
        one.seal()
        change(one)
        one.write(folder)
    add(name, function, questions, **more)


def edit(**values):
    return lambda document: {**document, **values}


def drop(key):
    return lambda document: {k: v for k, v in document.items() if k != key}


def in_block(**values):
    return lambda document: {**document, "block": {**document["block"], **values}}


def replaced(old, new):
    return lambda text: text.replace(old, new)


def at(index, change):
    def apply(one):
        one.lines[index] = change(one.lines[index])
    return apply


def find(one, event, n=0):
    return [i for i, line in enumerate(one.lines) if line.split(b"|")[3] == event.encode()][n]


def rechain(one, start):
    head = one.lines[start - 1][:64].decode() if start else GENESIS
    for i in range(start, len(one.lines)):
        rest = one.lines[i].split(b"|", 1)[1]
        head = h(head.encode() + b"|" + rest[:-1])
        one.lines[i] = head.encode() + b"|" + rest


afterwards("honest", lambda one: None)
# Two answers stand behind the last segment: they count for *consistent* alone.
add("honest_without_a_log", lambda folder: scenario().write(folder), (), False)

C = "consistent"
S = "signed_by"


# -- the log file, without the key
def dropped(one, event, n=0, again=False):
    i = find(one, event, n)
    del one.lines[i]
    if again:
        rechain(one, i)


def swapped(one, i, again=False):
    one.lines[i], one.lines[i + 1] = one.lines[i + 1], one.lines[i]
    if again:
        rechain(one, i)


def inserted(one, i, again):
    rest = b"0|" + one.lines[i].split(b"|")[2] + b"|recover|-|applied:1\n"
    one.lines.insert(i, h(one.lines[i - 1][:64] + b"|" + rest[:-1]).encode() + b"|" + rest)
    if again:
        rechain(one, i)


def edited(one, i, again):
    one.lines[i] = one.lines[i].replace(b"observer", b"obscurer").replace(b"anything", b"nothing!")
    if again:
        rechain(one, i)


for _again in (False, True):
    _how = "_rechained" if _again else ""
    for _n, _where in ((0, ""), (-1, "_in_the_tail")):
        afterwards("line_edited%s%s" % (_where, _how), lambda one, n=_n, again=_again: edited(one, find(one, "response", n), again), C)
        # A tree head of more lines than are left covers none behind the last commit's: they are signed by nobody.
        afterwards("line_dropped%s%s" % (_where, _how), lambda one, n=_n, again=_again: dropped(one, "response", n, again),
                   *((C,) if _n == 0 else ("complete", S)))
        afterwards("line_inserted%s%s" % (_where, _how), lambda one, n=_n, again=_again: inserted(
            one, find(one, "response", n), again), C)
        afterwards("lines_swapped%s%s" % (_where, _how), lambda one, n=_n, again=_again: swapped(
            one, find(one, "prompt", n), again), C)
afterwards("last_line_dropped", lambda one: one.lines.pop(), "complete")
afterwards("last_line_edited", lambda one: edited(one, -1, False), C)
afterwards("last_line_edited_rechained", lambda one: edited(one, len(one.lines) - 1, True), C)
afterwards("drift_line_of_the_tail_dropped_rechained", lambda one: dropped(one, "drift", -1, True), "complete")
afterwards("log_cut_before_the_last_drift_line", lambda one: one.lines.__delitem__(slice(find(one, "drift", -1), None)), "complete")
afterwards("log_cut_before_the_last_answer", lambda one: one.lines.__delitem__(slice(find(one, "response", -1), None)), "complete")
afterwards("log_cut_before_the_last_auth_ok", lambda one: one.lines.__delitem__(slice(find(one, "auth_ok", -1), None)), "complete")
afterwards("log_cut_before_the_last_start", lambda one: one.lines.__delitem__(slice(find(one, "session_start", -1), None)), "complete")
afterwards("log_cut_inside_the_segments", lambda one: one.lines.__delitem__(slice(12, None)), "complete")
afterwards("log_empty", lambda one: one.lines.clear(), "complete")
afterwards("log_torn", at(-1, lambda line: line[:-20]), "complete")
afterwards("log_torn_inside_the_segments", lambda one: (one.lines.__delitem__(slice(12, None)), at(-1, lambda l: l[:-9])(one)), "complete")
afterwards("log_without_its_last_newline", at(-1, lambda line: line[:-1]), "complete")
afterwards("log_with_an_empty_line", lambda one: one.lines.append(b"\n"), S)
afterwards("log_with_a_line_too_long", lambda one: one.lines.append(b"a" * 70000 + b"\n"), S)
afterwards("log_with_carriage_returns", lambda one: one.lines.__setitem__(slice(None), [x[:-1] + b"\r\n" for x in one.lines]), C)
afterwards("log_of_the_wrong_case", at(3, lambda line: line[:64].upper() + line[64:]), C)


# -- refs and objects, without the key
def ref_to(ref, find_):
    def change(one):
        one.refs[ref] = find_(one)
    return change


def parent(one, oid, n=0):
    lines = one.objects[oid].split(b"\0", 1)[1].split(b"\n")
    return [line[7:].decode() for line in lines if line.startswith(b"parent ")][n]


def branch(one, event, n):
    """The branch of a session by its start line."""
    return dict(p.split(":", 1) for p in one.lines[find(one, event, n)].decode().strip().split("|")[5].split(","))["branch"]


def back(one, ref, steps):
    for _ in range(steps):
        one.refs[ref] = parent(one, one.refs[ref])


TAIL = "refs/heads/branch-%d" % (HEIGHTS[0] % 7 + 1)
OTHER = "refs/heads/branch-%d" % (HEIGHTS[1] % 7 + 1)
afterwards("branch_dropped", lambda one: one.refs.pop(OTHER), C)
afterwards("tail_branch_dropped", lambda one: one.refs.pop(TAIL), C)
afterwards("main_dropped", lambda one: one.refs.pop("refs/heads/main"), C)
afterwards("all_refs_dropped", lambda one: one.refs.clear(), C, code=2)
afterwards("tail_commit_dropped", lambda one: back(one, TAIL, 1), C)
afterwards("tail_session_dropped", lambda one: back(one, TAIL, 3), C)
afterwards("close_on_main_dropped", lambda one: back(one, "refs/heads/main", 1), C)
afterwards("main_cut_to_genesis", lambda one: back(one, "refs/heads/main", one.mains - 1), C)


def cut_both(one, event, n):
    del one.lines[find(one, event, n):]


afterwards("tail_cut_in_both_to_a_session", lambda one: (cut_both(one, "session_start", -1), back(one, TAIL, 3)), "complete")
afterwards("tail_cut_in_both_to_an_answer", lambda one: (cut_both(one, "prompt", -1), back(one, TAIL, 1)), "complete")
afterwards("tail_cut_in_both_to_a_prompt", lambda one: (cut_both(one, "response", -1), back(one, TAIL, 1)), "complete")
afterwards("log_cut_to_a_session", lambda one: cut_both(one, "session_start", -1), "complete")
afterwards("extra_branch", lambda one: one.refs.update({"refs/heads/branch-8": one.main}))     # foreign: counted, not read
afterwards("extra_branch_of_the_seven", lambda one: one.refs.update(
    {next(r for r in ("refs/heads/branch-%d" % n for n in range(1, 8)) if r not in one.refs): one.main}), C)
afterwards("extra_tag", lambda one: one.refs.update({"refs/tags/v1": one.main}))
afterwards("replace_ref", lambda one: one.refs.update({"refs/replace/" + one.main: parent(one, one.main)}))
afterwards("other_notes", lambda one: one.refs.update({"refs/notes/commits": one.main}))
afterwards("symbolic_branch", lambda one: one.refs.update({OTHER: "ref: refs/heads/main"}), C)
afterwards("broken_ref", lambda one: one.refs.update({"refs/heads/branch-3": "no object name"}), C)
afterwards("ref_to_nothing", lambda one: one.refs.update({TAIL: "1" * 40}), C)
afterwards("ref_to_a_blob", lambda one: one.refs.update({TAIL: one.put("blob", b"blob")}), C)


def pack(one, change=lambda rows: rows):
    """The refs in one file, as `git pack-refs` writes them."""
    rows = change(sorted((name, oid) for name, oid in one.refs.items()))
    one.packed = b"".join([b"# pack-refs with: peeled fully-peeled sorted \n"] + [("%s %s\n" % (oid, name)).encode() for name, oid in rows])
    one.refs = {}


def shout(rows):
    return [(name, oid.upper() if name == "refs/heads/main" else oid) for name, oid in rows]


afterwards("honest_with_packed_refs", pack)
afterwards("packed_ref_in_upper_case", lambda one: pack(one, shout), C)
afterwards("packed_ref_of_another_commit", lambda one: (back(one, TAIL, 1), pack(one)), C)
afterwards("packed_ref_named_twice", lambda one: pack(one, lambda rows: rows + [(n, dict(rows)[TAIL]) for n, o in rows if n == "refs/heads/main"]), C)
afterwards("packed_refs_with_an_empty_line", lambda one: (pack(one), setattr(one, "packed", one.packed + b"\n")), C)
afterwards("packed_ref_of_another_name", lambda one: pack(one, lambda rows: [(n.replace("main", "maim"), o) for n, o in rows]), C)
afterwards("branches_exchanged", lambda one: one.refs.update({TAIL: one.refs[OTHER], OTHER: one.refs[TAIL]}), C)


def object_of(one, oid):
    return one.objects[oid]


def lose(pick):
    def change(one):
        del one.objects[pick(one)]
    return change


def spoil(pick, change_):
    def change(one):
        oid = pick(one)
        one.objects[oid] = change_(one.objects[oid])
    return change


def tail_commit(one):
    return one.refs[TAIL]


def tree_of(one, oid):
    return one.objects[oid].split(b"\0", 1)[1][5:45].decode()


def blob_of(one, oid, name):
    raw = one.objects[tree_of(one, oid)]
    return raw[raw.index(name.encode() + b"\0") + len(name) + 1:][:20].hex()


afterwards("commit_lost", lose(lambda one: parent(one, tail_commit(one))), C)
afterwards("tree_lost", lose(lambda one: tree_of(one, tail_commit(one))), C)
afterwards("blob_lost", lose(lambda one: blob_of(one, tail_commit(one), "record.json")), C)
afterwards("segment_lost", lose(lambda one: blob_of(one, one.main, "audit.log")), C)
afterwards("genesis_document_lost", lose(lambda one: [o for o, raw in one.objects.items() if b'"commitments"' in raw][0]), C)
afterwards("blob_changed_in_place", spoil(lambda one: blob_of(one, tail_commit(one), "record.json"), lambda raw: raw.replace(
    b"observer", b"obscurer")), C)
afterwards("segment_changed_in_place", spoil(lambda one: blob_of(one, one.main, "audit.log"), lambda raw: raw[:-30] + b"0" + raw[-29:]), C)
afterwards("tree_changed_in_place", spoil(lambda one: tree_of(one, tail_commit(one)), lambda raw: raw[:-1] + bytes([raw[-1] ^ 1])), C)
afterwards("commit_changed_in_place", spoil(tail_commit, lambda raw: raw.replace(b"interaction-2", b"interaction-3")), C)


def signature_stripped(one):
    raw = one.objects[one.refs[TAIL]].split(b"\0", 1)[1]
    head, tail = raw.split(b"gpgsig ", 1)
    one.refs[TAIL] = one.put("commit", head + tail.split(b"-----END SSH SIGNATURE-----\n", 1)[1])


afterwards("signature_stripped", signature_stripped, C, "signed_by")


def exchanged(one, log, git):
    two = scenario(auth=b"somebody else")
    if log:
        one.lines = two.lines
    if git:
        one.refs, one.objects = two.refs, two.objects


afterwards("log_of_another_ledger", lambda one: exchanged(one, True, False), C)
afterwards("git_of_another_ledger", lambda one: exchanged(one, False, True), C)


def replayed(one):
    """The lines of a finished session once more at the end."""
    start, end = find(one, "session_start", 0), find(one, "session_end", 0)
    ident = one.lines[start].split(b"|")[4]
    again = [line for line in one.lines[start:end + 1] if line.split(b"|")[4] == ident]
    n = len(one.lines)
    one.lines.extend(again)
    rechain(one, n)


afterwards("session_replayed_rechained", replayed, S)

afterwards("log_with_a_line_too_long_within", lambda one: one.lines.insert(len(one.lines) - 2, b"a" * 70000 + b"\n"), C)
afterwards("log_with_a_nul_within", at(-2, lambda line: line[:70] + b"\0" + line[71:]), C)
afterwards("log_not_utf8_within", at(-2, lambda line: line[:70] + b"\xff" + line[71:]), C)
afterwards("tail_cut_in_both_after_the_start", lambda one: (
    one.lines.__delitem__(slice(find(one, "session_start", -1) + 1, None)), back(one, TAIL, 2)), "complete")
afterwards("log_doubled", lambda one: one.lines.extend(one.lines), S)
afterwards("log_reversed", lambda one: one.lines.reverse(), C)
afterwards("main_cut_before_the_rotation", lambda one: back(one, "refs/heads/main", 2), C)
afterwards("ref_without_its_newline", lambda one: one.refs.update({TAIL: one.refs[TAIL] + "\0"}), C)
afterwards("ref_with_a_line_more", lambda one: one.refs.update({TAIL: one.refs[TAIL] + "\nmore"}), C)
afterwards("ref_in_upper_case", lambda one: one.refs.update({TAIL: one.refs[TAIL].upper()}), C)
afterwards("symbolic_tail", lambda one: one.refs.update({TAIL: "ref: " + OTHER}), C)


def proof_of(one, oid):
    """An OpenTimestamps proof of a commit's checkpoint; a calendar has promised a block."""
    raw = one.objects[tree_of(one, oid)]
    stamped = h(one.objects[blob_of(one, oid, "checkpoint")].split(b"\0", 1)[1]) if b"checkpoint\0" in raw else h(b"")
    uri = b"https://proof-of." + oid[:16].encode()
    return (b"\x00OpenTimestamps\x00\x00Proof\x00\xbf\x89\xe2\xe8\x84\xe8\x92\x94\x01\x08" + bytes.fromhex(stamped)
            + b"\x00" + bytes.fromhex("83dfe30d2ef90c8e") + bytes([len(uri) + 1, len(uri)]) + uri)


def noted(on, change=None, note=proof_of):
    """Notes as OpenTimestamps proofs are kept, on the commits that `on` names."""
    def tampered(one):
        tree = one.tree({oid: note(one, oid) for oid in on(one)})
        raw = "tree %s\nauthor n <n@n> 1707113500 +0000\ncommitter n <n@n> 1707113500 +0000\n\nnotes\n" % tree
        one.refs["refs/notes/ots"] = one.put("commit", raw.encode())
        if change:
            change(one)
    return tampered


afterwards("honest_with_notes", noted(lambda one: [one.main]))
afterwards("note_that_is_no_proof", noted(lambda one: [one.main], note=lambda one, oid: b"hello\n"), "not_after")
afterwards("note_with_more_behind_it", noted(lambda one: [one.main], note=lambda one, oid: proof_of(one, oid) + b"\n"), "not_after")
afterwards("note_of_another_head", noted(lambda one: [one.main], note=lambda one, oid: proof_of(one, parent(one, oid))), "not_after")
afterwards("notes_on_a_branch", noted(lambda one: [one.refs[TAIL]]), C)
afterwards("note_changed_in_place", noted(lambda one: [one.main], spoil(
    lambda one: [o for o, raw in one.objects.items() if b"proof-of" in raw][0], lambda raw: raw[:-1] + b"?")), C)
afterwards("note_lost", noted(lambda one: [one.main], lose(
    lambda one: [o for o, raw in one.objects.items() if b"proof-of" in raw][0])), C)
afterwards("notes_ref_to_nothing", lambda one: one.refs.update({"refs/notes/witness": "1" * 40}), C)

# -- signatures and commits, with the key
with_key("subject_of_no_kind", "message", "interaction#2", replaced("interaction-2", "merge-2"), C)
with_key("subject_of_no_kind_by_a_stranger", "key", "interaction#2", lambda key: STRANGER, C, "signed_by")
with_key("subject_with_more_words", "message", "session_start#1", replaced("session_start:", "session_start :"), C)
with_key("log_trailer_twice", "message", "interaction#2", lambda text: text + text[text.index("Log: "):], C)
with_key("genesis_of_another_subject", "message", "genesis#1", replaced("genesis\n", "begin\n"), C)
with_key("committer_a_second_later", "commit", "interaction#2", lambda raw: raw.replace(b"committer gently <ledger@gently.invalid> 1",
         b"committer gently <ledger@gently.invalid> 2"), C)
with_key("commit_not_utf8", "commit", "interaction#2", lambda raw: raw + b"\xff\n", C)
with_key("start_of_another_author", "author", "session_start#2", replaced("gently <", "somebody <"), C, "not_before", "signed_by")
with_key("close_of_another_author", "author", "close#2", replaced("gently <", "somebody <"), C, "signed_by")
with_key("genesis_of_another_author", "author", "genesis#1", replaced("gently <", "somebody <"), C, "signed_by")
with_key("rotation_of_another_author", "author", "key_rotate#1", replaced("gently <", "somebody <"), C, "signed_by")
with_key("end_of_another_author", "author", "session_end#2", replaced("gently <", "somebody <"), C, "signed_by")
with_key("tree_head_unreadable", "note", "main#2", lambda note: b"hello\n", C, "signed_by")
with_key("tree_head_of_another_origin", "note", "main#2", lambda note: note.replace(b"test/second", b"test/third"), C)
with_key("tree_head_signed_for_another_text", "note", "main#3", lambda note: note.replace(b"\n28\n", b"\n29\n"), C)
with_key("checkpoint_without_its_segment", "files", "checkpoint#2", lambda f: {k: v for k, v in f.items() if k != "audit.log"}, C)
with_key("checkpoint_without_its_tree_head", "files", "checkpoint#2", lambda f: {k: v for k, v in f.items() if k != "checkpoint"}, C,
         "signed_by")
with_key("segment_behind_a_link", "files", "checkpoint#2", lambda f: {**f, "audit.log": ("120000", f["audit.log"])}, C)
with_key("segment_executable", "files", "checkpoint#2", lambda f: {**f, "audit.log": ("100755", f["audit.log"])}, C)
with_key("tree_with_many_files", "files", "session_start#2", lambda f: {**f, **{"a%03d" % n: b"" for n in range(200)}}, C)
with_key("rotation_line_left_out", "rest", "key_rotate#1", lambda rest: None, C)
with_key("checkpoint_line_left_out", "rest", "checkpoint#2", lambda rest: None, C)
with_key("genesis_line_left_out", "rest", "genesis#1", lambda rest: None, C)
with_key("start_line_left_out", "rest", "session_start#2", lambda rest: None, C)
with_key("end_line_left_out", "rest", "session_end#1", lambda rest: None, C)
with_key("answer_line_left_out", "rest", "response#2", lambda rest: None, C)
with_key("prompt_line_left_out", "rest", "prompt#2", lambda rest: None, C)
with_key("answer_line_left_out_of_the_tail", "rest", "response#8", lambda rest: None, "complete")
with_key("start_line_twice", "rest", "session_start#2", lambda rest: [rest, rest], C)
with_key("end_line_twice", "rest", "session_end#1", lambda rest: [rest, rest], C)
with_key("anchor_line_twice", "rest", "btc_anchor#1", lambda rest: [rest, rest], C)
with_key("anchor_line_unreadable", "rest", "btc_anchor#1", lambda rest: rest[:-1], C, "not_before")
with_key("oversize_line_of_the_log", "rest", "artifact#1", lambda rest: rest + "0" * 70000, C)
with_key("rotation_to_no_key", "document", "key_rotate#1", edit(new_signer="ssh-rsa AAAA"), C, "signed_by")
with_key("commit_by_a_stranger", "key", "interaction#2", lambda key: STRANGER, C, "signed_by")
with_key("start_by_a_stranger", "key", "session_start#2", lambda key: STRANGER, C, "signed_by")
with_key("close_by_a_stranger", "key", "close#1", lambda key: STRANGER, C, "signed_by")
with_key("genesis_by_a_stranger", "key", "genesis#1", lambda key: STRANGER, C, "signed_by")
with_key("rotation_by_the_new_key", "key", "key_rotate#1", lambda key: SECOND, C, "signed_by")
with_key("tail_by_the_old_key", "key", "interaction#7", lambda key: FIRST, C, "signed_by")
with_key("tree_head_by_a_stranger", "note_key", "main#2", lambda key: STRANGER, C, "signed_by")
with_key("signature_of_nothing", "signature", "interaction#1", lambda sig: bytes(64), C, "signed_by")
with_key("signature_malleable", "signature", "interaction#1", lambda sig: sig[:32] + (
    int.from_bytes(sig[32:], "little") + V.L).to_bytes(32, "little"), C, "signed_by")
with_key("armor_of_another_width", "width", "interaction#1", lambda width: 64, C)
with_key("author_of_another_name", "author", "interaction#1", replaced("gently <", "somebody <"), C)
with_key("author_in_another_zone", "author", "interaction#1", replaced("+0000", "+0100"), C)
with_key("author_a_second_later", "author", "interaction#1", lambda who: who.replace(
    who.split()[-2], str(int(who.split()[-2]) + 1)), C)
with_key("message_with_another_subject", "message", "interaction#1", replaced("interaction-1", "interaction-01"), C)
with_key("message_with_another_trailer", "message", "interaction#1", lambda text: text + "Note: hello\n", C)
with_key("message_without_its_newline", "message", "interaction#1", lambda text: text[:-1], C)
with_key("trailers_in_another_order", "message", "session_start#1", lambda text: "\n".join(
    text.split("\n")[:2] + text.split("\n")[4:1:-1]) + "\n", C)
with_key("trailer_record_wrong", "message", "interaction#1", lambda text: text.replace("Record: ", "Record: 0")[:-1][:len(text) - 1] + "\n", C)
with_key("header_after_the_signature", "commit", "interaction#1", lambda raw: raw.replace(
    b"-----END SSH SIGNATURE-----\n\n", b"-----END SSH SIGNATURE-----\nencoding UTF-8\n\n", 1), C)
with_key("parents_twice", "parents", "interaction#2", lambda p: p + p, C)
with_key("parent_of_another_branch", "parents", "session_start#2", lambda p: ["1" * 40], C)
with_key("close_with_one_parent", "parents", "close#2", lambda p: p[:1], C)
with_key("start_without_main", "parents", "session_start#5", lambda p: p[:1], C)
with_key("tree_of_the_close_another", "tree", "close#2", lambda tree: tree[:-1] + ("0" if tree[-1] != "0" else "1"), C)

# -- trees
with_key("tree_with_an_extra_file", "files", "interaction#2", lambda f: {**f, "notes.txt": b"hello\n"}, C)
with_key("tree_with_a_missing_file", "files", "interaction#2", lambda f: {k: v for k, v in f.items() if k != "session"}, C)
with_key("tree_with_a_symlink", "files", "interaction#2", lambda f: {**f, "session": ("120000", f["session"])}, C)
with_key("tree_with_an_executable", "files", "interaction#2", lambda f: {**f, "session": ("100755", f["session"])}, C)
with_key("tree_with_an_odd_mode", "files", "interaction#2", lambda f: {**f, "session": ("0100644", f["session"])}, C)
with_key("tree_with_group_writable", "files", "interaction#2", lambda f: {**f, "session": ("100664", f["session"])}, C)
with_key("tree_with_a_folder", "files", "interaction#2", lambda f: {**f, "folder": ("40000", b"")}, C)
with_key("file_without_newline", "files", "interaction#2", lambda f: {**f, "session": f["session"][:-1]}, C)
with_key("file_with_another_hash", "files", "interaction#2", lambda f: {**f, "prompt_hash": f["response_hash"]}, C)
with_key("oversize_file", "files", "interaction#2", lambda f: {**f, "session": b"a" * (20 << 20)}, C)
with_key("genesis_with_two_signers", "files", "genesis#1", lambda f: {**f, "allowed_signers": f["allowed_signers"] + V.signer_line(
    STRANGER.text)}, C)
with_key("rotation_forgets_a_signer", "files", "key_rotate#1", lambda f: {**f, "allowed_signers": V.signer_line(SECOND.text)}, C)
with_key("local_start_with_a_header", "files", "session_start#3", lambda f: {**f, "btc_header": b"0" * 160 + b"\n"}, C)
with_key("start_without_its_header", "files", "session_start#1", lambda f: {k: v for k, v in f.items() if k != "btc_header"},
         C, "not_before")
with_key("header_in_upper_case", "files", "session_start#1", lambda f: {**f, "btc_header": f["btc_header"].upper()}, C)

# -- documents
for _kind, _field, _value in (
        ("genesis", "format", "gently/2"), ("genesis", "genesis", "1" * 64), ("genesis", "network", "litecoin"),
        ("genesis", "commitments", "md5"), ("genesis", "created_at", START + 1), ("genesis", "signer", STRANGER.text),
        ("session_start", "opened_at", START), ("session_start", "prev_log", ZERO), ("session_start", "auth_key_hash", ZERO),
        ("session_start", "tier", "2"), ("session_start", "branch", "branch-6"), ("session_start", "kernel_hash", "none"),
        ("response", "timestamp", START), ("response", "asked_at", START), ("response", "prev", ZERO), ("response", "seq", 7),
        ("response", "authority_state", "fine"), ("response", "refusal", 0), ("response", "model", "another"),
        ("response", "prompt_hash", ZERO), ("response", "response_hash", ZERO), ("response", "exchange_hash", "A" * 64),
        ("response", "session_id", ZERO), ("response", "validator", {}),
        ("session_end", "interactions", 9), ("session_end", "final_chain_hash", ZERO), ("session_end", "closed_at", START),
        ("checkpoint", "sessions_open", 5), ("checkpoint", "log_head", ZERO), ("checkpoint", "created_at", START),
        ("key_rotate", "old_signer", STRANGER.text), ("key_rotate", "created_at", START)):
    with_key("%s_with_wrong_%s" % (_kind, _field), "document", _kind + "#1", edit(**{_field: _value}), C)
with_key("genesis_with_a_space_in_origin", "document", "genesis#1", edit(origin="test second"), C)
with_key("genesis_without_origin", "document", "genesis#1", drop("origin"), C)
with_key("record_with_an_extra_key", "document", "response#1", edit(note="hello"), C)
with_key("record_with_a_fraction", "json", "response#1", replaced(b'"seq":1', b'"seq":1.0'), C)
with_key("record_with_an_exponent", "json", "response#1", replaced(b'"seq":1', b'"seq":1e0'), C)
with_key("record_with_spaces", "json", "response#1", replaced(b":", b": "), C)
with_key("record_with_a_newline", "json", "response#1", lambda raw: raw + b"\n", C)
with_key("record_with_keys_twice", "json", "response#1", replaced(b'"seq":1', b'"seq":1,"seq":1'), C)
with_key("record_with_a_needless_escape", "json", "response#1", replaced(b"observer", b"\\u006fbserver"), C)
with_key("record_with_keys_unsorted", "json", "response#1", lambda raw: raw.replace(b'"seq":1,', b"").replace(b"{", b'{"seq":1,', 1), C)
with_key("record_not_utf8", "json", "response#1", replaced(b"observer", b"obs\xffrver"), C)
with_key("record_with_a_byte_order_mark", "json", "response#1", lambda raw: b"\xef\xbb\xbf" + raw, C)
with_key("record_that_is_no_json", "json", "response#1", lambda raw: b"record", C)
with_key("record_nested_deeply", "json", "response#1", lambda raw: b"[" * 100000 + b"]" * 100000, C)
with_key("record_with_a_huge_number", "json", "response#1", replaced(b'"seq":1', b'"seq":' + b"1" * 5000), C)
with_key("tier_beyond_doubles", "document", "session_start#1", edit(tier=2 ** 53 + 1), C)
with_key("tier_negative", "document", "session_start#1", edit(tier=-1), C)
with_key("checkpoint_of_another_height", "document", "checkpoint#2", lambda d: {**d, "block": block_at(HEIGHTS[0], 0, "bitcoin")}, C)
with_key("checkpoint_of_another_hash", "document", "checkpoint#2", in_block(hash=BLOCKS[0][0]), C)
with_key("drift_claimed_without_line", "document", "response#1", lambda d: {**d, "validator": {**d["validator"], "tone_drift": True}}, C)
with_key("drift_denied_with_line", "document", "response#2", lambda d: {**d, "validator": {**d["validator"], "tone_drift": False}}, C)

# -- the log, with the key
with_key("drift_line_left_out", "rest", "drift#1", lambda rest: None, C)
with_key("drift_line_twice", "rest", "drift#1", lambda rest: [rest, rest])                      # allowed
with_key("outcome_left_out", "rest", "response_fail#1", lambda rest: None, "complete")
with_key("outcome_twice", "rest", "response_fail#1", lambda rest: [rest, rest], C)
with_key("prompt_twice", "rest", "prompt#1", lambda rest: [rest, rest], C)
with_key("genesis_twice", "rest", "recover#1", lambda rest: [rest.split("|")[0] + "|" + rest.split("|")[1] + "|genesis|-|record:" + ZERO, rest], C)
with_key("auth_ok_left_out", "rest", "auth_ok#1", lambda rest: None, C)
with_key("branch_create_left_out", "rest", "branch_create#1", lambda rest: None, C)
with_key("record_of_another", "rest", "response#1", lambda rest: rest[:-64] + ZERO, C)
with_key("compile_failure_with_a_line_between", "rest", "response_fail#2", lambda rest: [
    "%s|%s|some_event|%s|-" % (rest.split("|")[0], rest.split("|")[1], rest.split("|")[3]), rest], C)
with_key("height_not_the_sessions", "rest", "prompt#1", lambda rest: "1" + rest, C)
with_key("time_backwards", "stamp", "auth_fail#1", lambda stamp: "2024-02-05T00:00:00Z", C)
with_key("time_no_day", "stamp", "auth_fail#1", lambda stamp: "2024-02-30T00:00:00Z", C)
with_key("time_before_1970", "stamp", "artifact#1", lambda stamp: "1969-12-31T23:59:59Z", C)
with_key("leap_second", "stamp", "artifact#1", lambda stamp: stamp[:-3] + "60Z", C)
with_key("event_after_the_end", "rest", "recover#1", lambda rest: [rest], )                    # honest twin of the next



@tamper(C)
def something_after_a_sessions_end(folder):
    seen = {}

    def hook(on, name, value):
        if (on, name) == ("rest", "session_end#1"):
            seen["id"], seen["height"] = value.split("|")[3], value.split("|")[0]
        if (on, name) == ("rest", "recover#1"):
            return [value, "%s|%s|artifact|%s|kind:fact,id:late,hash:%s" % (seen["height"], value.split("|")[1], seen["id"], ZERO)]
        return value
    scenario(hook).write(folder)


with_key("event_of_an_unknown_session", "rest", "recover#1", lambda rest: [
    rest, "%s|%s|some_event|%s|-" % (rest.split("|")[0], rest.split("|")[1], "5" * 64)], C)
with_key("details_with_a_capital", "rest", "recover#1", lambda rest: [rest, rest.rsplit("|", 3)[0] + "|some_event|-|Key:1"], C)
with_key("details_empty_value", "rest", "recover#1", lambda rest: [rest, rest.rsplit("|", 3)[0] + "|some_event|-|key:"], C)
with_key("details_empty", "rest", "recover#1", lambda rest: [rest, rest.rsplit("|", 3)[0] + "|some_event|-|"], C)
with_key("details_control_character", "rest", "recover#1", lambda rest: [rest, rest.rsplit("|", 3)[0] + "|some_event|-|key:a\x7fb"], C)
with_key("details_escaped_plain", "rest", "recover#1", lambda rest: [rest, rest.rsplit("|", 3)[0] + "|some_event|-|key:%41"], C)
with_key("unknown_event_is_kept", "rest", "recover#1", lambda rest: [rest, rest.rsplit("|", 3)[0] + "|some_event|-|key:%25 : %C3%A9"])
with_key("line_as_long_as_allowed", "rest", "recover#1", lambda rest: [
    rest, (rest.rsplit("|", 3)[0] + "|some_event|-|key:").ljust(65535 - 65, "a")])
with_key("line_one_too_long", "rest", "recover#1", lambda rest: [
    rest, (rest.rsplit("|", 3)[0] + "|some_event|-|key:").ljust(65536 - 65, "a")], C)
with_key("session_id_not_that_of_its_inputs", "id", "session_start#1", lambda ident: h(ident.encode()), C)
with_key("chain_entry_wrong", "entry", "response#1", lambda entry: h(entry.encode()), C)
with_key("close_hash_wrong", "close", "session_end#1", lambda close: h(close.encode()), C)
with_key("branch_misspelt", "branch", "session_start#2", lambda name: "brfnch" + name[6:], C, "complete", "signed_by", log=False)
with_key("branch_with_a_newline", "branch", "session_start#2", lambda name: name + "\n", C, "complete", "signed_by", log=False)
with_key("interaction_without_a_log_trailer", "message", "interaction#5", lambda text: text.replace("\nLog: ", "\nLag: "), C, "complete",
         log=False)
with_key("close_with_a_malformed_parent", "commit", "close#1", lambda raw: raw.replace(b"\nauthor", b"0\nauthor", 1), C, "complete",
         "not_before")
with_key("interaction_of_seventeen_parents", "parents", "interaction#2", lambda parents: parents * 17, C)
with_key("wrong_branch", "branch", "session_start#2", lambda name: "branch-%d" % (int(name[-1]) % 7 + 1), C)
with_key("segment_without_its_last_line", "segment", "main#2", lambda seg: seg[:seg[:-1].rindex(b"\n") + 1], C)
with_key("segment_torn", "segment", "main#2", lambda seg: seg[:-1], C)
with_key("segment_empty", "segment", "main#2", lambda seg: b"", C)
with_key("tree_head_of_another_size", "root", "main#2", lambda r: (r[0] + 1, r[1]), C)
with_key("tree_head_of_another_root", "root", "main#2", lambda r: (r[0], bytes(32)), C)
with_key("note_with_a_second_signature", "note", "main#2", lambda note: note + note[note.index("\u2014".encode()):], C)
with_key("note_with_an_extension", "note", "main#2", lambda note: note.replace(b"\n\n", b"\nhello\n\n", 1), C)

# -- blocks, with the key
N = "not_before"


def home_made(bits):
    @staticmethod
    def make(folder, which="session_start#1", height=None):
        made = {}

        def hook(on, name, value):
            if (on, name) == ("block", which):
                made["hash"], made["header"] = mine(bits, value["time"])
                return {**value, "hash": made["hash"]}
            if (on, name) == ("header", which):
                return made["header"]
            return value
        scenario(hook).write(folder)
    return make


@tamper(N)
def header_home_made(folder):
    home_made(0x207fffff).__func__(folder)


@tamper(N)
def header_home_made_at_the_end(folder):
    home_made(0x207fffff).__func__(folder, "session_end#1")


@tamper(N)
def header_home_made_of_an_anchor(folder):
    home_made(0x207fffff).__func__(folder, "btc_anchor#1")


@tamper(C, N)
def header_of_a_wrong_epoch(folder):
    """A real block of another height, with its own work."""
    old = 358391

    def hook(on, name, value):
        if on == "block" and name == "session_start#1":
            block, header = BLOCKS[old]
            return {**value, "hash": block, "time": int.from_bytes(bytes.fromhex(header)[68:72], "little")}
        if on == "header" and name == "session_start#1":
            return BLOCKS[old][1]
        return value
    scenario(hook).write(folder)


with_key("header_of_another_block", "header", "session_start#1", lambda text: BLOCKS[HEIGHTS[1]][1], C, N)
with_key("anchor_header_of_another_block", "header", "btc_anchor#1", lambda text: BLOCKS[HEIGHTS[1]][1], C, N)
with_key("block_of_another_time", "block", "session_start#1", lambda block: {**block, "time": block["time"] + 1}, C, N)
with_key("block_of_another_network", "block", "session_start#1", lambda block: {**block, "network": "testnet4"}, C, N)
with_key("end_of_another_network", "block", "session_end#1", lambda block: {**block, "network": "signet"}, C, N)
with_key("local_block_of_another_network", "block", "session_start#3", lambda block: {**block, "network": "regtest"}, C)
with_key("block_called_local", "block", "session_start#1", lambda block: {**block, "source": "local"}, C)
with_key("local_block_called_file", "block", "session_start#3", lambda block: {**block, "source": "file"}, C)
with_key("end_on_an_older_block", "block", "session_end#1", lambda block: block_at(HEIGHTS[0], 0, "bitcoin"))
with_key("end_on_a_local_block", "block", "session_end#1", lambda block: block_at(0, START + 999, "bitcoin"))
with_key("anchor_not_newer", "block", "btc_anchor#1", lambda block: block_at(HEIGHTS[0], 0, "bitcoin"), C)


@tamper()
def honest_on_local_blocks_only(folder):
    scenario(network="signet").write(folder)


# -- ways of which nobody made a list
def ended_with(name, rest, *questions):
    """A line more, outside sessions, behind the `recover` line."""
    with_key(name, "rest", "recover#1", lambda line: [line, line.rsplit("|", 3)[0] + "|" + rest], *questions)


with_key("message_with_carriage_returns", "message", "interaction#1", lambda text: text.replace("\n", "\r\n"), C)
with_key("signature_twice", "commit", "interaction#1", lambda raw: raw.replace(
    b"\n\ninteraction", b"\n" + raw[raw.index(b"gpgsig"):raw.index(b"\n\ninteraction")] + b"\n\ninteraction", 1), C)
with_key("header_before_the_signature", "commit", "interaction#1", replaced(b"gpgsig ", b"encoding UTF-8\ngpgsig "), C)
with_key("zone_of_minus_zero", "author", "interaction#1", replaced("+0000", "-0000"), C)
with_key("date_with_a_leading_zero", "author", "interaction#1", lambda who: re.sub(r"> (\d+)", r"> 0\1", who), C)
with_key("parents_of_the_close_exchanged", "parents", "close#1", lambda parents: parents[::-1], C)
with_key("tree_with_a_submodule", "files", "interaction#2", lambda f: {**f, "sub": ("160000", b"")}, C)
with_key("signers_with_a_comment", "files", "genesis#1", lambda f: {**f, "allowed_signers": f["allowed_signers"][:-1] + b" me\n"}, C)
with_key("segment_with_a_line_of_the_one_before", "segment", "main#3", lambda seg: seg.split(b"\n")[0] + b"\n" + seg, C)
with_key("record_with_half_a_character", "json", "response#1", replaced(b'"observer"', b'"\\ud800"'), C)
with_key("tier_of_minus_zero", "json", "session_start#1", replaced(b'"tier":2', b'"tier":-0'), C)
with_key("interactions_of_the_line_another", "details", "session_end#1", lambda details: [
    (key, value + 1 if key == "interactions" else value) for key, value in details], C)
with_key("height_beyond_32_bits", "block", "session_start#1", lambda block: {**block, "height": (1 << 32) + block["height"]}, C)
with_key("real_height_without_a_hash", "block", "session_start#1", lambda block: {**block, "hash": ZERO}, C)
with_key("drift_line_of_a_denied_prompt", "rest", "denied#1", lambda rest: [
    rest, "|".join(rest.split("|")[:2]) + "|drift|" + rest.split("|")[3] + "|class:tone,severity:low,seq:2,id:x"], C)
ended_with("details_of_no_character", "some_event|-|key:%ED%A0%80", C)
ended_with("details_overlong", "some_event|-|key:%C0%80", C)
ended_with("checkpoint_line_without_a_commit", "checkpoint|-|record:" + "a" * 64, C)
ended_with("rotation_line_without_a_commit", "key_rotate|-|record:" + "a" * 64, C)
ended_with("honest_with_an_unknown_event_of_a_record", "some_event|-|record:" + "a" * 64)
ended_with("clock_set_to_another_time", "clock_set|-|to:2034-02-05T00:00:00Z", C)


@tamper(C)
def rotation_while_a_session_is_open(folder):
    one = Ledger()
    one.genesis()
    session = one.start(HEIGHTS[0], b"auth 1")
    one.ask(session)
    one.rotate(SECOND)
    one.ask(session)
    one.end(session, HEIGHTS[0])
    one.write(folder)


@tamper(C)
def rotation_to_the_key_in_force(folder):
    one = Ledger()
    one.genesis()
    session = one.start(HEIGHTS[0], b"auth 1")
    one.ask(session)
    one.end(session, HEIGHTS[0])
    one.rotate(FIRST)
    one.write(folder)


@tamper(C)
def rotation_back_to_an_older_key(folder):
    one = Ledger()
    one.genesis()
    one.rotate(SECOND)
    one.rotate(FIRST)
    session = one.start(HEIGHTS[0], b"auth 1")
    one.ask(session)
    one.end(session, HEIGHTS[0])
    one.write(folder)


@tamper(C)
def checkpoint_on_a_branch(folder):
    one = Ledger()
    one.genesis()
    session = one.start(HEIGHTS[0], b"auth 1")
    one.ask(session)
    main, ref = one.main, "refs/heads/" + session["branch"]
    one.main = one.refs[ref]
    one.checkpoint()
    one.refs[ref], one.refs["refs/heads/main"] = one.main, main
    one.write(folder)


def in_repository(name, file, text, *questions, **more):
    """A file of the repository that is no object."""
    def function(folder):
        scenario().write(folder)
        put(os.path.join(folder, "ledger.git", file), text)
    add(name, function, questions, **more)


VERSION_1 = b"[core]\n\trepositoryformatversion = 1\n\tbare = true\n"
in_repository("configuration_of_other_object_names", "config", VERSION_1 + b"[extensions]\n\tobjectFormat = sha256\n", C, code=2)
in_repository("honest_with_a_head_of_no_branch", "HEAD", b"ref: refs/heads/branch-9\n")
in_repository("ref_of_a_bisection", "refs/bisect/bad", GENESIS[:40].encode() + b"\n")
in_repository("refs_of_a_host", "refs/pull/7/head", b"no object name at all")


del TAMPERS["event_after_the_end"]


# ---------------------------------------------------------------- what attacks on the first edition found

# -- lines behind those that anybody signed
def appended(*rests):
    """Lines behind the last, chained, by somebody without a key."""
    def change(one):
        height, stamp = one.lines[-1].decode().split("|")[1:3]
        session = next(iter(one.sessions))
        for rest in rests:
            rest = "%s|%s|%s" % (height if "|-|" not in rest else one.highest, stamp, rest.replace("OPEN", session))
            one.lines.append(("%s|%s\n" % (h(one.lines[-1][:64] + b"|" + rest.encode()), rest)).encode())
    return change


AUTH_FAIL, UNKNOWN = "auth_fail|-|reason:wrong,count:1", "some_event|-|key:value"
afterwards("tail_denied_appended", appended("prompt|OPEN|hash:%s,seq:3" % ZERO, "denied|OPEN|seq:3,reason:policy,exchange:" + ZERO), S)
afterwards("tail_artifact_appended", appended("artifact|-|kind:fact,id:forged,hash:" + ZERO), S)
afterwards("tail_artifact_of_the_session_appended", appended("artifact|OPEN|kind:fact,id:forged,hash:" + ZERO), S)
afterwards("tail_unknown_appended", appended(UNKNOWN), S)
afterwards("tail_prompt_appended", appended("prompt|OPEN|hash:%s,seq:3" % ZERO), S)         # unanswered, and nobody signed it
afterwards("tail_rotation_appended", appended("key_rotate|-|record:" + ZERO), S)
afterwards("tail_clock_set_appended", appended("clock_set|-|to:2034-02-05T00:00:00Z"), S)
afterwards("tail_of_garbage_appended", lambda one: one.lines.append(b"garbage\n"), S)
afterwards("tail_with_a_copied_line", lambda one: one.lines.append(one.lines[find(one, "response", 0)]), S)
afterwards("tail_torn_behind_what_is_signed", lambda one: one.lines.append(b"0" * 70), "complete")


def ends_with(event, details, change=None):
    """A ledger whose last line is one that no commit covers."""
    def make(folder):
        one = scenario()
        one.plain(event, details)
        one.seal()
        if change:
            change(one)
        one.write(folder)
    return make


def recount(one):
    one.lines[-1] = one.lines[-1].replace(b"count:2", b"count:1")
    rechain(one, len(one.lines) - 1)


add("honest_tail_of_an_auth_fail", ends_with("auth_fail", [("reason", "wrong"), ("count", 2)]), ())
add("auth_fail_edited_in_the_tail", ends_with("auth_fail", [("reason", "wrong"), ("count", 2)], recount), (C,))
add("auth_fail_dropped_from_the_tail", ends_with("auth_fail", [("reason", "wrong"), ("count", 2)], lambda one: one.lines.pop()),
    ("complete",))


def checkpoint_is(make):
    """Another audit.checkpoint than the one that belongs there."""
    def change(one):
        one.sealed = make(one)
    return change


afterwards("checkpoint_missing", checkpoint_is(lambda one: b""), S)
afterwards("checkpoint_of_garbage", checkpoint_is(lambda one: b"garbage\n"), C, S)
afterwards("checkpoint_by_a_stranger", checkpoint_is(lambda one: one.tree_head("x", STRANGER)), C, S)
afterwards("checkpoint_by_a_retired_key", checkpoint_is(lambda one: one.tree_head("x", FIRST)), C, S)
afterwards("checkpoint_of_an_older_line", checkpoint_is(lambda one: one.tree_head("x", SECOND, find(one, "response", -2) + 1)), S)
afterwards("checkpoint_larger_than_the_log", lambda one: one.lines.__delitem__(slice(len(one.lines) - 1, None)), "complete")
afterwards("checkpoint_twice_signed", checkpoint_is(lambda one: one.sealed + one.sealed[one.sealed.index("\u2014".encode()):]), C, S)
afterwards("checkpoint_of_another_ledger", checkpoint_is(lambda one: sealed_of(scenario(auth=b"somebody else"))), C)
afterwards("checkpoint_of_another_origin", checkpoint_is(lambda one: sealed_of(scenario(origin="test/third"))), C)
afterwards("checkpoint_of_zero_lines", checkpoint_is(lambda one: signed_note(one.origin, 0, hashlib.sha256(b"").digest(), FIRST)), S)
afterwards("checkpoint_too_large", checkpoint_is(lambda one: one.sealed + b"\n" * 16384), C, S)


def sealed_of(one):
    one.seal()
    return one.sealed


def crashed(steps, event="response"):
    """A writer that was killed behind log and tree head, and before the refs moved."""
    def make(folder):
        one = Ledger()
        one.genesis()
        session = one.start(HEIGHTS[0], b"auth 1")
        one.ask(session)
        if event == "response":
            one.ask(session, tone_drift=True)
        if event == "session_end":
            one.end(session, HEIGHTS[0])
        if event == "checkpoint":
            one.checkpoint()
        for ref in steps(session):
            one.refs[ref] = parent(one, one.refs[ref])
        one.write(folder)
    return make


MAIN = "refs/heads/main"
add("last_commit_not_yet_made", crashed(lambda s: ["refs/heads/" + s["branch"]]), ("complete",))
add("last_end_not_yet_made", crashed(lambda s: [MAIN, "refs/heads/" + s["branch"]], "session_end"), ("complete",))
add("last_close_not_yet_made", crashed(lambda s: [MAIN], "session_end"), ("complete",))
add("last_checkpoint_not_yet_made", crashed(lambda s: [MAIN], "checkpoint"), ("complete",))
add("last_two_commits_missing", crashed(lambda s: ["refs/heads/" + s["branch"]] * 2), (C,))


# -- one signature predicate
class Bent(Key):
    """A key whose signatures, or itself, have a part of small order; `accept` decides on h, which such a part meets."""

    def __init__(self, key, of_r=0, of_a=0, accept=lambda h_: True):
        self.scalar, self.prefix, self.accept = key.scalar, key.prefix, accept
        self.part = V.torsion()[of_r]
        x = V.decompress(key.public)
        self.public = V.encode(V.add_points(x, V.torsion()[of_a])) if of_a else key.public

    def sign(self, message):
        for n in range(200):
            r = int.from_bytes(hashlib.sha512(self.prefix + bytes([n]) + message).digest(), "little") % V.L
            point = V.encode(V.add_points(V.decompress(self.point(r)), self.part))
            k = int.from_bytes(hashlib.sha512(point + self.public + message).digest(), "little") % V.L
            if self.accept(k):
                return point + ((r + k * self.scalar) % V.L).to_bytes(32, "little")
        raise AssertionError


# Which multiple of the point of order 8 has which order.
for _order, _n in ((2, 4), (4, 2), (8, 1), (8, 3)):
    with_key("signature_r_with_a_part_of_order_%d%s" % (_order, "" if _n != 3 else "_again"), "key", "interaction#3",
             lambda key, n=_n: Bent(key, n), C, S)
    with_key("tree_head_r_with_a_part_of_order_%d%s" % (_order, "" if _n != 3 else "_again"), "note_key", "main#3",
             lambda key, n=_n: Bent(key, n), C, S)
    with_key("checkpoint_r_with_a_part_of_order_%d%s" % (_order, "" if _n != 3 else "_again"), "note_key", "log#1",
             lambda key, n=_n: Bent(key, n), C, S)


def with_the_key(key, name, *questions):
    """A small ledger whose only key is this."""
    def make(folder):
        one = Ledger(key=key)
        one.genesis()
        session = one.start(HEIGHTS[0], b"auth 1")
        for _ in range(3):
            one.ask(session)
        one.end(session, HEIGHTS[0])
        one.write(folder)
    add(name, make, questions, signers=[key.text])


# sB - hA is R where h takes the part of small order away; the equation decides, and it decides the same each time.
for _order, _n in ((2, 4), (4, 2), (8, 1)):
    with_the_key(Bent(FIRST, 0, _n, lambda k, o=_order: k % o == 0), "honest_key_with_a_part_of_order_%d" % _order)
    with_the_key(Bent(FIRST, 0, _n, lambda k, o=_order: k % o != 0), "key_with_a_part_of_order_%d" % _order, C, S)


class Small(Key):
    """A public key of small order, under which anybody signs: R is sB."""

    def __init__(self, n):
        self.public = V.encode(V.torsion()[n])

    def sign(self, message):
        for n in range(2000):
            s_ = int.from_bytes(hashlib.sha512(bytes([n & 255, n >> 8]) + message).digest(), "little") % V.L
            point = self.point(s_)
            if int.from_bytes(hashlib.sha512(point + self.public + message).digest(), "little") % V.L % 8 == 0:
                return point + s_.to_bytes(32, "little")
        raise AssertionError


for _n, _order in ((0, 1), (4, 2), (2, 4), (1, 8)):
    with_the_key(Small(_n), "key_of_order_%d" % _order, C, S)


class Neutral(Key):
    """R is a point of small order, in one of its spellings; s makes the equation hold."""

    def __init__(self, key, spelling):
        self.scalar, self.prefix, self.public, self.spelling = key.scalar, key.prefix, key.public, spelling

    def sign(self, message):
        k = int.from_bytes(hashlib.sha512(self.spelling + self.public + message).digest(), "little") % V.L
        return self.spelling + (k * self.scalar % V.L).to_bytes(32, "little")


with_key("signature_r_neutral", "key", "interaction#3", lambda key: Neutral(key, V.encode(V.IDENTITY)), C, S)
with_key("signature_r_neutral_not_canonical", "key", "interaction#3", lambda key: Neutral(key, (V.P + 1).to_bytes(32, "little")), C, S)
with_key("signature_r_neutral_with_a_sign", "key", "interaction#3", lambda key: Neutral(key, (1 | 1 << 255).to_bytes(32, "little")), C, S)
with_key("signature_s_of_the_order", "signature", "interaction#3", lambda sig: sig[:32] + V.L.to_bytes(32, "little"), C, S)
with_key("tree_head_malleable", "note", "log#1", lambda note: malleable_note(note), C, S)


def malleable_note(note):
    text, line = note.rsplit(b" ", 1)
    blob = base64.b64decode(line)
    s_ = int.from_bytes(blob[36:], "little") + V.L
    return text + b" " + base64.b64encode(blob[:36] + s_.to_bytes(32, "little")) + b"\n"


# -- times and heights
def on_blocks(*steps, network="bitcoin", start=None, made=None):
    """A ledger of one session after another, each on its block; a step may be a function of the ledger."""
    def make(folder):
        one = Ledger(network=network)
        one.made = made or {}
        if start:
            one.time = start
        one.genesis()
        for n, step in enumerate(steps):
            if callable(step):
                step(one)
                continue
            session = one.start(step[0], b"auth %d" % n)
            one.ask(session)
            one.end(session, step[-1])
        one.write(folder)
    return make


def set_clock(back):
    def step(one):
        one.time = back
        one.line("clock_set", None, [("to", one.stamp())])
        one.tick()
    return step


def called(height, real):
    """The block of one height, said to be at another: its header is real."""
    block, header = BLOCKS[real]
    return {height: ({"hash": block, "height": height, "network": "bitcoin", "source": "file",
                      "time": int.from_bytes(bytes.fromhex(header)[68:72], "little")}, header)}


A, B = HEIGHTS[:2]
YEAR_2010 = 1262304000
add("honest_clock_set_back", on_blocks((A, A), set_clock(START - 3600), (B, B)), ())
add("session_dated_2010", on_blocks((A, A), start=YEAR_2010), (C,))
add("session_dated_2010_by_clock_set", on_blocks((A, A), set_clock(YEAR_2010), (B, B)), (C,))
add("session_dated_a_day_before_its_block", on_blocks((A, A), start=block_at(A, 0, "bitcoin")["time"] - 86400), (C,))
add("honest_an_hour_before_its_block", on_blocks((A, A), start=block_at(A, 0, "bitcoin")["time"] - 3600), ())
add("one_hash_at_two_heights", on_blocks((A, A), (A + 7, A + 7), made=called(A + 7, A)), (C,))
add("one_hash_at_two_heights_at_start_and_end", on_blocks((A, A + 1), made=called(A + 1, A)), (C,))
add("honest_work_of_2009_at_its_height", on_blocks((170, 170)), (N,))               # not checked: cheap work
add("work_of_2009_at_another_height", on_blocks((1000, 1000), made=called(1000, 170)), (N,))
add("work_of_2009_at_a_height_of_tomorrow", on_blocks((1100000, 1100000), made=called(1100000, 170)), (C, N))
add("work_of_2024_at_a_height_of_tomorrow", on_blocks((1100000, 1100000), made=called(1100000, A)), (C,))
add("work_of_2015_beyond_the_table", on_blocks((960000, 960000), made=called(960000, 358391)), (C, N))


# -- keys
def forked(folder):
    """What a thief of the first key makes of the time before the rotation: nothing in it is wrong."""
    one = Ledger()
    one.genesis()
    session = one.start(A, b"auth 1")
    one.ask(session)
    one.end(session, A)
    one.write(folder)


add("fork_under_a_retired_key", forked, (S,), code=0)
add("honest_under_one_key", forked, (), signers=[FIRST.text], yes=[S])
add("key_that_the_checker_has_not", forked, (S,), signers=[SECOND.text], code=0)
add("newer_key_than_the_checkers", lambda folder: scenario().write(folder), (S,), signers=[FIRST.text], code=0)


@tamper(S, code=0)
def rotation_is_the_last_line(folder):
    """Its own line is the old key's: to a checker who pinned the new one last it is retired until the next line."""
    one = Ledger()
    one.genesis()
    one.rotate(SECOND)
    one.write(folder)


@tamper(C, S)
def branch_under_a_retired_key(folder):
    """Behind the last segment, with no log at hand: the newest key of main decides."""
    one = Ledger()
    one.genesis()
    one.rotate(SECOND)
    one.key = FIRST
    session = one.start(A, b"auth 1")
    one.ask(session)
    one.write(folder)


add("branch_under_a_retired_key_without_a_log", branch_under_a_retired_key, (C,), False)

# -- stamps
afterwards("note_on_the_genesis", noted(lambda one: [genesis_of(one)]), "not_after")


def genesis_of(one):
    oid = one.main
    while b"\nparent " in one.objects[oid]:
        oid = parent(one, oid)
    return oid


def proof_of_the_head(one, oid):
    """What the first edition stamped: the HASH that the commit calls Log."""
    log = re.search(rb"\nLog: ([0-9a-f]{64})", one.objects[oid]).group(1).decode()
    return ots(log)


def ots(digest, height=None):
    """A proof of a digest: of a block with that Merkle root, or one that a calendar has promised."""
    head = b"\x00OpenTimestamps\x00\x00Proof\x00\xbf\x89\xe2\xe8\x84\xe8\x92\x94\x01\x08" + bytes.fromhex(digest)
    if height is None:
        uri = b"https://a.invalid"
        return head + b"\x00" + bytes.fromhex("83dfe30d2ef90c8e") + bytes([len(uri) + 1, len(uri)]) + uri
    number = bytearray()
    while True:
        number.append(height & 127 | (128 if height > 127 else 0))
        height >>= 7
        if not height:
            break
    return head + b"\x00" + bytes.fromhex("0588960d73d71901") + bytes([len(number)]) + bytes(number)


afterwards("note_of_a_log_head", noted(lambda one: [one.main], note=proof_of_the_head), "not_after")
afterwards("notes_in_three_levels", lambda one: one.refs.update({"refs/notes/ots": deep_notes(one)}), C)


def deep_notes(one):
    """A note on the newest commit, in three folders of two digits."""
    oid = one.main
    tree = one.put("tree", b"100644 " + oid[6:].encode() + b"\0" + bytes.fromhex(one.put("blob", proof_of(one, oid))))
    for part in (oid[4:6], oid[2:4], oid[:2]):
        tree = one.put("tree", b"40000 " + part.encode() + b"\0" + bytes.fromhex(tree))
    return one.put("commit", ("tree %s\nauthor n <n@n> 1707113500 +0000\ncommitter n <n@n> 1707113500 +0000\n\nnotes\n" % tree).encode())


def another_history(one):
    """On the newest commit: a note of the same origin, signed by the ledger's key, over another tree."""
    note = signed_note(one.origin, 10, hashlib.sha256(b"another").digest(), FIRST)
    tree = one.tree({one.main: note})
    raw = "tree %s\nauthor n <n@n> 1707113500 +0000\ncommitter n <n@n> 1707113500 +0000\n\nnotes\n" % tree
    one.refs["refs/notes/witness"] = one.put("commit", raw.encode())


afterwards("witness_note_of_another_history", another_history, C, "unique")


def notes_commit(one, tree, date="1707113500 +0000"):
    raw = "tree %s\nauthor n <n@n> %s\ncommitter n <n@n> %s\n\nnotes\n" % (tree, date, date)
    return one.put("commit", raw.encode())


def raw_tree(one, *entries):
    """A tree of (mode, name, object) as they stand: a name may come twice, or hold a slash."""
    return one.put("tree", b"".join(("%s %s\0" % (mode, name)).encode() + bytes.fromhex(oid) for mode, name, oid in entries))


def blob(one, content):
    return one.put("blob", content)


def note_named(name):
    """The newest commit's note, under another spelling of its name."""
    def change(one):
        tree = raw_tree(one, ("100644", name(one.main), blob(one, proof_of(one, one.main))))
        one.refs["refs/notes/ots"] = notes_commit(one, tree)
    return change


def note_of_date(date):
    def change(one):
        one.refs["refs/notes/ots"] = notes_commit(one, one.tree({one.main: proof_of(one, one.main)}), date)
    return change


def folder_twice(one):
    oid = one.main
    folder = raw_tree(one, ("100644", oid[2:], blob(one, proof_of(one, oid))))
    one.refs["refs/notes/ots"] = notes_commit(one, raw_tree(one, ("40000", oid[:2], folder), ("40000", oid[:2], folder)))


afterwards("note_with_a_slash_in_its_name", note_named(lambda oid: oid[:2] + "/" + oid[2:]), C)
afterwards("note_in_upper_case", note_named(str.upper), C)
afterwards("notes_in_one_folder_twice", folder_twice, C)
# Nobody signed them: what is no time is no date, and nothing else.
afterwards("notes_of_a_date_of_twenty_digits", note_of_date("99999999999999999999 +0000"))
afterwards("notes_of_the_year_10000", note_of_date("253402300800 +0000"))
afterwards("notes_of_a_date_of_5000_digits", note_of_date("9" * 5000 + " +0000"))


def branch_of_a_date(digits):
    def change(one):
        raw = one.objects[one.refs[TAIL]].split(b"\0", 1)[1]
        raw = re.sub(rb"(?m)^((?:author|committer) [^>\n]*>) [0-9]+", lambda date: date.group(1) + b" " + b"1" * digits, raw)
        one.refs[TAIL] = one.put("commit", raw)
    return change


afterwards("branch_of_a_date_of_5000_digits", branch_of_a_date(5000), C, S)

# -- test networks prove nothing, unless the checker names one
def regtest(folder):
    blocks = {height: regtest_block(height, START - 600 + height) for height in (5, 6)}
    on_blocks((5, 6), network="regtest", made=blocks)(folder)


# The first block of every regtest, and what is mined on it: a chain that a checker can keep.
REGTEST_0 = bytes.fromhex("01000000" + "00" * 32 + "3ba3edfd7a7b12b27ac72c3e67768f617fc81bc3888a51323a9fb8aa4b1e5e4a" + "dae5494d"
                          + "ffff7f20" + "02000000")


def mined(chain, time, root=hashlib.sha256(b"nothing").digest()):
    prev = hashlib.sha256(hashlib.sha256(chain[-1]).digest()).digest()
    block, header = mine(0x207fffff, time, root, prev)
    chain.append(bytes.fromhex(header))
    return {"hash": block, "height": len(chain) - 1, "network": "regtest", "source": "file", "time": time}, header


def attested(name, after, *questions, fast=None, commit=None, options=(), proof=None, notes=None, **more):
    """A ledger on regtest whose checkpoint on one commit of main is in a block, mined so many seconds after the last line;
    `fast` sets the clock ahead before a line and back behind it. `proof` gives the note of a digest, `notes` the tree of
    the commit's note."""
    def make(folder):
        chain, one = [REGTEST_0], Ledger(network="regtest")
        one.made = {height: mined(chain, START - 900 + height) for height in (1, 2)}
        one.genesis()
        first = one.start(1, b"auth 1")
        one.ask(first)
        one.end(first, 2)
        second = one.start(2, b"auth 2")
        if fast:
            one.time += fast
        one.ask(second)
        if fast:
            one.time -= fast
            one.line("clock_set", None, [("to", one.stamp())])
        one.end(second, 2)
        oid = one.main if commit is None else parent(one, one.main)
        digest = h(one.objects[blob_of(one, oid, "checkpoint")].split(b"\0", 1)[1])
        mined(chain, one.time + after, bytes.fromhex(digest))
        made = ots(digest, 3) if proof is None else proof(digest)
        noted(lambda one: [oid], note=lambda one, oid: made)(one)
        if notes:
            one.refs["refs/notes/ots"] = notes_commit(one, notes(one, oid, made))
        put(os.path.join(folder, "headers", "regtest-0.dat"), b"".join(chain))
        one.write(folder)
    add(name, make, questions, signers=[FIRST.text], options=["--network", "regtest", "--headers", "headers", *options], **more)


A_, Z_ = "not_after", "not_before"
attested("stamped_through_the_last_line", 600, yes=[A_, Z_], options=["--require", "not-after,not-before"])
attested("stamped_through_an_older_line", 600, A_, commit=1)
attested("stamped_through_an_older_line_required", 600, A_, commit=1, options=["--require", "not-after"], code=1)
attested("stamped_through_the_line_required", 600, A_, commit=1, options=["--require", "not-after:7"])
attested("stamped_through_a_line_before_the_required", 600, A_, commit=1, options=["--require", "not-after:12"], code=1)
attested("stamped_hours_before", -7300, A_)
attested("stamped_by_a_fast_clock", 600, A_, fast=9000)
attested("stamped_by_a_fast_clock_required_before", 600, A_, fast=9000, options=["--require", "not-after:7"], code=1)
attested("stamped_by_a_fast_clock_required_behind", 600, A_, fast=9000, options=["--require", "not-after:13"], code=1)



def twice(first, second):
    """Two notes on one commit, in the tree's order; the later counts."""
    return lambda one, oid, made: raw_tree(one, ("100644", oid, first(one, made)), ("100644", oid, second(one, made)))


def in_a_folder_and_flat(folder, flat):
    """The same, one of them in a folder, which comes first."""
    return lambda one, oid, made: raw_tree(one, ("40000", oid[:2], raw_tree(one, ("100644", oid[2:], folder(one, made)))),
                                           ("100644", oid, flat(one, made)))


def the_junk(one, _made):
    return blob(one, b"junk")


attested("stamped_by_the_later_of_two_notes", 600, yes=[A_], notes=twice(the_junk, blob), options=["--require", "not-after"])
attested("stamped_by_the_earlier_of_two_notes", 600, A_, notes=twice(blob, the_junk), options=["--require", "not-after"], code=1)
attested("stamped_by_the_later_behind_a_folder", 600, yes=[A_], notes=in_a_folder_and_flat(the_junk, blob), options=["--require", "not-after"])
attested("stamped_by_the_earlier_in_a_folder", 600, A_, notes=in_a_folder_and_flat(blob, the_junk), options=["--require", "not-after"], code=1)


def beside_a_block(operation):
    """A proof with another branch: by way of an operation, to the block that the digest itself is in."""
    def proof(digest):
        whole = ots(digest, 3)
        return whole[:65] + b"\xff" + operation + whole[65:] + whole[65:]
    return proof


attested("stamped_beside_a_keccak_that_is_not", 600, A_, proof=beside_a_block(b"\x67"), options=["--require", "not-after"], code=1)
attested("stamped_beside_a_sha1_that_is_not", 600, A_, proof=beside_a_block(b"\x02"), options=["--require", "not-after"], code=1)

WITNESS, WITNESS_KEY = "witness.invalid/one", Key(b"\x44" * 32)


def cosigned(name, change, *questions, at=0, seconds=60, options=(), **more):
    """A ledger with a cosigned tree head on a commit of main, so many before the newest, and a policy that asks one witness."""
    def make(folder):
        one = scenario()
        oid = one.main
        for _ in range(at):
            oid = parent(one, oid)
        note = one.objects[blob_of(one, oid, "checkpoint")].split(b"\0", 1)[1]
        material, moment = b"\x04" + WITNESS_KEY.public, one.time + seconds
        ident = hashlib.sha256(WITNESS.encode() + b"\n" + material).digest()[:4]
        text = note.split(b"\n\n")[0] + b"\n"
        signature = WITNESS_KEY.sign(b"cosignature/v1\ntime %d\n" % moment + text)
        note, signature = change(note, signature)
        line = "\u2014 %s %s\n" % (WITNESS, base64.b64encode(ident + moment.to_bytes(8, "big") + signature).decode())
        tree = one.tree({oid: note + line.encode()})
        raw = "tree %s\nauthor n <n@n> 1707113500 +0000\ncommitter n <n@n> 1707113500 +0000\n\nnotes\n" % tree
        one.refs["refs/notes/witness"] = one.put("commit", raw.encode())
        vkey = "%s+%s+%s" % (WITNESS, ident.hex(), base64.b64encode(material).decode())
        put(os.path.join(folder, "policy"), ("witness one %s\nquorum one\n" % vkey).encode())
        one.write(folder)
    add(name, make, questions, options=["--policy", "policy", *options], **more)


def as_it_is(note, signature):
    return note, signature


# The scenario has an open session behind its last segment, so nothing is cosigned through the last signed line.
cosigned("cosigned_newest_head", as_it_is, "unique", "not_after")
cosigned("cosigned_newest_head_required", as_it_is, "unique", options=["--require", "unique"], code=1)
cosigned("cosigned_line_required", as_it_is, "unique", options=["--require", "unique:40,not-after:40"])
cosigned("cosigned_older_head_required", as_it_is, "unique", at=2, options=["--require", "unique:45"], code=1)
cosigned("cosigned_by_nobody", lambda note, signature: (note, bytes(64)), "unique")
cosigned("cosigned_r_with_a_part_of_order_2", lambda note, signature: (note, Bent(WITNESS_KEY, 4).sign(b"something else")), "unique")
cosigned("cosigned_malleable", lambda note, sig: (note, sig[:32] + (int.from_bytes(sig[32:], "little") + V.L).to_bytes(32, "little")), "unique")


add("regtest_ledger", regtest, (N, "not_after"), signers=[FIRST.text])
add("regtest_ledger_required", regtest, (N,), signers=[FIRST.text], options=["--require", "not-before"], code=1)
add("regtest_ledger_named", regtest, (), signers=[FIRST.text], options=["--require", "not-before", "--network", "regtest"], yes=[N])
add("honest_required", lambda folder: scenario().write(folder), (), options=["--require", "not-before,signed"], yes=[N, S])
add("honest_not_after_required", lambda folder: scenario().write(folder), ("not_after",), options=["--require", "not-after:3"], code=1)


# -- a stranger's folder
def in_folder(name, change, *questions, **more):
    """A change of the written folder."""
    def make(folder):
        one = scenario()
        one.extra.append(change)
        one.write(folder)
    add(name, make, questions, **more)


def linked(*parts):
    """What stands there stands elsewhere now, behind a symbolic link."""
    def change(folder):
        path = os.path.join(folder, *parts)
        away = os.path.join(folder, "elsewhere")
        os.rename(path, away)
        os.symlink(away, path)
    return change


def piped(*parts):
    def change(folder):
        path = os.path.join(folder, *parts)
        if os.path.lexists(path):
            os.remove(path)
        os.mkfifo(path)
    return change


def first_object(folder):
    """The path of the loose commit that the tail's branch ends with."""
    with open(os.path.join(folder, "ledger.git", TAIL), encoding="ascii") as file:
        oid = file.read().strip()
    return "ledger.git", "objects", oid[:2], oid[2:]


in_folder("head_behind_a_link", linked("ledger.git", "HEAD"), C, code=2)
in_folder("ref_behind_a_link", linked("ledger.git", TAIL), C)
in_folder("refs_behind_a_link", linked("ledger.git", "refs", "heads"), C, code=2)
in_folder("objects_behind_a_link", linked("ledger.git", "objects"), C, code=2)
in_folder("object_behind_a_link", lambda folder: linked(*first_object(folder))(folder), C, code=2)
in_folder("object_of_a_pipe", lambda folder: piped(*first_object(folder))(folder), C, code=2)
in_folder("pack_of_a_pipe", piped("ledger.git", "objects", "pack", "pack-%s.idx" % ("0" * 40)), C, code=2)
in_folder("packed_refs_behind_a_link", lambda folder: os.symlink("/dev/null", os.path.join(folder, "ledger.git", "packed-refs")), C, code=2)
in_folder("packed_refs_of_a_pipe", piped("ledger.git", "packed-refs"), C, code=2)


def lends(text, *links):
    """A list of lenders; one of them, beside the ledger, may hold links."""
    def change(folder):
        os.makedirs(os.path.join(folder, "lender"))
        for link in links:
            os.symlink("/dev/null", os.path.join(folder, "lender", link))
        put(os.path.join(folder, "ledger.git", "objects", "info", "alternates"), text)
    return change


def info_elsewhere(folder):
    """The folder that lists lenders is a link to an empty one."""
    info = os.path.join(folder, "ledger.git", "objects", "info")
    shutil.rmtree(info, ignore_errors=True)
    os.makedirs(os.path.join(folder, "info"))
    os.symlink(os.path.join("..", "..", "info"), info)


def a_file_for_a_folder(folder):
    path = os.path.join(folder, "ledger.git", "objects", "00")
    if not os.path.lexists(path):
        put(path, b"")


in_folder("folder_among_the_packs", lambda folder: os.makedirs(os.path.join(folder, "ledger.git", "objects", "pack", "a")))
in_folder("folder_among_the_objects", lambda folder: os.makedirs(os.path.join(folder, "ledger.git", "objects", "00", "a")))
in_folder("file_in_place_of_a_folder_of_objects", a_file_for_a_folder)
in_folder("info_behind_a_link", info_elsewhere, C, code=2)
in_folder("lender", lends(b"../../lender\n"))
in_folder("lender_that_is_quoted", lends(b'"../../lender"\n'))
in_folder("lender_with_a_link", lends(b"../../lender\n", "a"), C, code=2)
in_folder("lenders_in_64_kib", lends(b"#" * (64 << 10)))
in_folder("lenders_in_more_than_64_kib", lends(b"#" * (64 << 10) + b"\n"), C, code=2)
in_folder("ref_of_a_pipe", piped("ledger.git", TAIL), C)
in_folder("head_of_a_pipe", piped("ledger.git", "HEAD"), C, code=2)
in_folder("log_behind_a_link", linked("audit.log"), C, code=2)
in_folder("log_of_a_pipe", piped("audit.log"), C, code=2)
in_folder("log_of_a_device", lambda folder: (os.remove(os.path.join(folder, "audit.log")),
                                            os.symlink("/dev/zero", os.path.join(folder, "audit.log"))), C, code=2)
in_folder("checkpoint_behind_a_link", linked("audit.checkpoint"), C, code=2)
in_folder("checkpoint_of_a_pipe", piped("audit.checkpoint"), C, code=2)
in_folder("shallow", lambda folder: put(os.path.join(folder, "ledger.git", "shallow"), b"1" * 40 + b"\n"), C, code=2)
in_folder("grafts", lambda folder: put(os.path.join(folder, "ledger.git", "info", "grafts"), b"1" * 40 + b"\n"), C, code=2)
in_folder("honest_with_foreign_refs", lambda folder: put(os.path.join(folder, "ledger.git", "refs", "pull", "1", "head"), b"1" * 40 + b"\n"))

# -- sizes by role
with_key("record_larger_than_a_document", "document", "response#2", lambda d: {**d, "model": "m" * 70000}, C)
with_key("genesis_with_an_origin_not_of_ascii", "document", "genesis#1", edit(origin="gently/\u00e9"), C)
with_key("genesis_with_an_origin_of_101_bytes", "document", "genesis#1", edit(origin="a" * 101), C)
add("honest_with_an_origin_of_100_bytes", lambda folder: scenario(origin="a" * 100).write(folder), ())
with_key("commit_larger_than_a_commit", "message", "interaction#2", lambda text: text + "x" * 17000 + "\n", C)


# ---------------------------------------------------------------- opening files

OPENINGS = {}
CONSISTENT, COMMITMENT, TREE = "consistent", "commitment", "tree_head"
RECORDS = {"genesis": "genesis", "key_rotate": "key_rotate", "session_start": "session_start", "response": "response",
           "session_end": "session_end"}


def merkle(leaves):
    tree = V.TreeHash()
    for leaf in leaves:
        tree.add(leaf)
    return tree.root()


def inclusion(n, leaves):
    """RFC 6962's audit path of a leaf, from the leaf up."""
    if len(leaves) == 1:
        return []
    half = 1 << (len(leaves) - 1).bit_length() - 1
    if n < half:
        return inclusion(n, leaves[:half]) + [merkle(leaves[half:]).hex()]
    return inclusion(n - half, leaves[half:]) + [merkle(leaves[:half]).hex()]


class Opened:
    """The parts of an opening file, made from a ledger and changeable until it is written."""

    def __init__(self, one, session, wanted, size=None, stamp=None):
        """`wanted` are (seq, role), or ("artifact", n) for the n-th artifact line of the session; `stamp` is (size, header
        height, header, proof), made by `stamped`."""
        self.one, self.size, self.stamp = one, size or len(one.lines), stamp
        self.rows = [line[:-1] for line in one.lines[:self.size]]
        self.parsed = [V.Line(row, n + 1, "", None) for n, row in enumerate(self.rows)]
        ident = session["id"] if session else None
        needed, openings = {0}, []
        for n, line in enumerate(self.parsed):
            if line.event == "key_rotate" or line.session == ident and ident and line.event in ("session_start", "session_end"):
                needed.add(n)
        artifacts = [n for n, line in enumerate(self.parsed) if line.event == "artifact" and line.session == ident]
        for seq, role in wanted:
            if seq == "artifact":
                at, made, seq, role = artifacts[role], self.parsed[artifacts[role]].details["hash"], None, "artifact"
            else:
                of_turn = {line.event: n for n, line in enumerate(self.parsed)
                           if line.session == ident and line.details.get("seq") == str(seq) and line.event != "drift"}
                outcome = next((of_turn[e] for e in ("response", "response_fail", "denied") if e in of_turn), None)
                if "response" in of_turn:
                    at = outcome
                    made = self.document(at)[role + "_hash"]
                else:
                    at = of_turn["prompt"] if role == "prompt" else outcome
                    made = self.parsed[at].details["hash" if role == "prompt" else "exchange"]
                if outcome is not None:
                    needed.add(outcome)
            needed.add(at)
            key, text = one.texts[made]
            openings.append({"commitment": made, "format": "gently/1", "key": key, "role": role, "seq": seq,
                             "session_id": ident or "-", "text": text})
        self.needed, self.head = sorted(needed), one.tree_head("opening", one.key_at(self.size), self.size)
        self.file = {"documents": [], "format": "gently/1", "head": self.head.decode(), "headers": [], "lines": [],
                     "openings": openings, "stamp": None}
        opened = {n for n in needed if self.parsed[n].event in ("response", "prompt", "response_fail", "denied", "artifact")}
        for n in self.needed:
            line = self.parsed[n]
            entry = [n, self.rows[n].decode(), inclusion(n, self.rows)]
            if line.event == "key_rotate":
                entry.append([one.heads[n + 1].decode(), inclusion(n, self.rows[:n + 1])])
            if stamp and (n == 0 or line.event == "session_start" or n in opened):
                entry.append(inclusion(n, self.rows[:stamp["size"]]) if n < stamp["size"] else [])
            self.file["lines"].append(entry)
            if line.event in RECORDS:
                document = self.document(n)
                self.file["documents"].append(document)
                block = document.get("block")
                if block and block["source"] != "local":
                    self.file["headers"].append([block["height"], (one.made.get(block["height"]) or BLOCKS[block["height"]])[1]])
        if stamp:
            self.file["stamp"] = {key: stamp[key] for key in ("checkpoint", "header", "ots")}

    def document(self, n):
        return json.loads(self.one.records[self.parsed[n].details["record"]])

    def at(self, event):
        """The entry of the first line of an event."""
        return next(entry for entry, n in zip(self.file["lines"], self.needed) if self.parsed[n].event == event)

    def bytes(self):
        return jcs(self.file) + b"\n"


def stamped(one, size, height, time, key=None, origin=None, root=None, header=True):
    """A stamp of the first lines' tree head on a made-up block, whose Merkle root is the stamped file's hash."""
    rows = [line[:-1] for line in one.lines[:size]]
    note = signed_note(origin or one.origin, size, root or merkle(rows), key or one.key_at(size))
    digest = h(note)
    header_ = regtest_block(height, time, bytes.fromhex(digest))[1]
    return {"size": size, "checkpoint": note.decode(), "header": header_ if header else None,
            "ots": base64.b64encode(ots(digest, height)).decode()}


def teller(network="bitcoin", scheme="hmac-sha256", hook=None, fork=False, start=None, made=None, origin="test/second"):
    """A ledger of one session with an answer, a failure and a denial, an artifact, a rotation and a second session."""
    one = Ledger(hook, network, origin, scheme=scheme)
    if start:
        one.time = start
    if network == "regtest":
        one.made = {height: regtest_block(height, one.time - 900 + height) for height in (5, 6, 7)}
    one.made.update(made or {})
    heights = (5, 6, 7) if network == "regtest" else HEIGHTS[:3]
    one.genesis()
    one.plain("artifact", [("kind", "fact"), ("id", "fact-1"), ("hash", one.commit_to(b'{"fact":1}', scheme))])
    one.first = one.start(heights[0], b"auth 1")
    one.ask(one.first)
    one.ask(one.first)
    one.fail(one.first, one.prompt(one.first))
    one.deny(one.first)
    one.plain("artifact", [("kind", "note"), ("id", "note-1"), ("hash", one.commit_to(b'{"note":1}', scheme))], one.first)
    one.end(one.first, heights[1])
    if not fork:
        one.rotate(SECOND)
    one.second = one.start(heights[2], b"auth 2")
    one.ask(one.second)
    one.waiting = one.prompt(one.second)
    one.plain("some_event", [("key", "value")])
    return one


def opening(name, make, *questions, yes=(), signers=None, options=(), code=None):
    """Registers an opening file: a function that gives its bytes."""
    assert name not in OPENINGS, name
    OPENINGS[name] = (make, questions, list(yes), signers, list(options), code)


def opened(session, wanted, change=None, **kinds):
    """A file from the usual ledger, changed by somebody before it is shown."""
    def make():
        one = teller(**kinds)
        file = Opened(one, session and getattr(one, session), wanted)
        raw = change(file) if change else None
        return raw or file.bytes()
    return make


ONE = [(1, "response")]
GOOD = (CONSISTENT, COMMITMENT, TREE, S)
for _name, _session, _wanted in (
        ("response", "first", ONE), ("prompt", "first", [(2, "prompt")]),
        ("turns", "first", [(seq, role) for seq in (1, 2) for role in ("prompt", "response", "exchange")]),
        ("failed", "first", [(3, "prompt"), (3, "exchange")]), ("denied", "first", [(4, "prompt"), (4, "exchange")]),
        ("exchange_of_a_failure", "first", [(3, "exchange")]), ("artifact_outside", None, [("artifact", 0)]),
        ("artifact_inside", "first", [("artifact", 0)]), ("mixed", "first", [(1, "prompt"), (4, "exchange"), ("artifact", 0)]),
        ("second_key", "second", ONE), ("unanswered", "second", [(2, "prompt")])):
    opening("honest_" + _name, opened(_session, _wanted), yes=GOOD + (() if _name == "artifact_outside" else ("not_before",)))
opening("honest_sha256", opened("first", ONE, scheme="sha256"), yes=GOOD)


def edited_in(path, change):
    def apply(file):
        at, last = file.file, path[-1]
        for step in path[:-1]:
            at = at[step]
        at[last] = change(at[last])
    return apply


def altered(name, session, wanted, change, *questions, **kinds):
    opening(name, opened(session, wanted, change, **kinds), *questions)


# -- what the owner of no key changes in a file
altered("text_changed", "first", ONE, edited_in(["openings", 0, "text"], lambda text: text + "!"), COMMITMENT)
altered("text_and_commitment_changed", "first", ONE, lambda file: file.file["openings"][0].update(
    zip(("commitment", "key", "text"), (lambda made: (made, *file.one.texts[made]))(file.one.commit_to(b"another")))), COMMITMENT)
altered("key_null_under_hmac", "first", ONE, edited_in(["openings", 0, "key"], lambda key: None), COMMITMENT)
altered("key_under_sha256", "first", ONE, edited_in(["openings", 0, "key"], lambda key: ZERO), COMMITMENT, scheme="sha256")
altered("scheme_changed", "first", ONE, edited_in(["documents", 0, "commitments"], lambda scheme: "sha256"), CONSISTENT, COMMITMENT)
altered("role_changed", "first", ONE, edited_in(["openings", 0, "role"], lambda role: "prompt"), COMMITMENT)
altered("seq_changed", "first", ONE, edited_in(["openings", 0, "seq"], lambda seq: 2), COMMITMENT)
altered("session_changed", "first", ONE, edited_in(["openings", 0, "session_id"], lambda ident: ZERO), CONSISTENT)
altered("line_index_out_of_range", "first", ONE, edited_in(["lines", 1, 0], lambda index: 10 ** 6), CONSISTENT)
altered("model_changed", "first", ONE, edited_in(["documents", 2, "model"], lambda model: "another"), CONSISTENT)
altered("verdict_changed", "first", ONE, edited_in(["documents", 2, "validator", "tone_drift"], lambda flag: not flag), CONSISTENT)
altered("line_changed", "first", ONE, edited_in(["lines", 2, 1], lambda text: text.replace("observer", "obscurer")), CONSISTENT)
altered("network_changed", "first", ONE, edited_in(["documents", 1, "block", "network"], lambda name: "regtest"), CONSISTENT)
altered("both_networks_changed", "first", ONE, lambda file: (edited_in(["documents", 0, "network"], lambda name: "regtest")(file),
        edited_in(["documents", 1, "block", "network"], lambda name: "regtest")(file)) and None, CONSISTENT)
altered("proof_changed", "first", ONE, edited_in(["lines", 2, 2, 0], lambda node: ZERO), CONSISTENT)
altered("proof_too_long", "first", ONE, edited_in(["lines", 2, 2], lambda path: path + [ZERO]), CONSISTENT)
altered("proof_too_short", "first", ONE, edited_in(["lines", 2, 2], lambda path: path[:-1]), CONSISTENT)
altered("proof_of_the_start_changed", "first", ONE, edited_in(["lines", 1, 2, 0], lambda node: ZERO), CONSISTENT)
altered("proof_of_the_genesis_changed", "first", ONE, edited_in(["lines", 0, 2, 0], lambda node: ZERO), CONSISTENT)
altered("document_with_a_fraction", "first", ONE, edited_in(["documents", 0, "created_at"], lambda time: 0.5), CONSISTENT)
altered("document_with_a_large_number", "first", ONE, edited_in(["documents", 0, "created_at"], lambda time: 10 ** 20), CONSISTENT)
altered("index_changed", "first", ONE, edited_in(["lines", 2, 0], lambda n: n + 1), CONSISTENT)
altered("lines_in_another_order", "first", ONE, edited_in(["lines"], lambda lines: lines[::-1]), CONSISTENT)
altered("line_twice", "first", ONE, edited_in(["lines"], lambda lines: lines + [lines[-1]]), CONSISTENT)
altered("start_left_out", "first", ONE, lambda file: (file.file["lines"].pop(1), file.file["documents"].pop(1),
                                                     file.file["headers"].pop(0)) and None, CONSISTENT)
altered("genesis_left_out", "first", ONE, lambda file: (file.file["lines"].pop(0), file.file["documents"].pop(0)) and None,
        CONSISTENT, COMMITMENT, TREE)
altered("outcome_left_out", "first", [(3, "exchange")], lambda file: file.file["lines"].remove(file.at("response_fail")),
        CONSISTENT, COMMITMENT)
altered("a_line_that_is_not_needed", "first", ONE, lambda file: file.file["lines"].insert(1, [
    1, file.rows[1].decode(), inclusion(1, file.rows)]), CONSISTENT)
altered("the_prompt_of_an_answer", "first", ONE, lambda file: file.file["lines"].insert(2, [
    5, file.rows[5].decode(), inclusion(5, file.rows)]), CONSISTENT)


def a_failure_beside_the_answer():
    """A log in which one prompt has failed and is answered behind it; its file shows both outcomes."""
    one = Ledger(None, "bitcoin", "test/second", scheme="hmac-sha256")
    one.genesis()
    first = one.start(HEIGHTS[0], b"auth 1")
    seq = one.prompt(first)
    one.fail(first, seq)
    one.answer(first, seq)
    file = Opened(one, first, ONE)
    at = next(n for n, line in enumerate(file.parsed) if line.event == "response_fail")
    place = next(n for n, entry in enumerate(file.file["lines"]) if entry[0] > at)
    file.file["lines"].insert(place, [at, file.rows[at].decode(), inclusion(at, file.rows)])
    return file.bytes()


opening("a_failure_beside_the_answer", a_failure_beside_the_answer, CONSISTENT)
altered("document_left_out", "first", ONE, edited_in(["documents"], lambda documents: documents[:-1]), CONSISTENT)
altered("document_more", "first", ONE, edited_in(["documents"], lambda documents: documents + [documents[0]]), CONSISTENT)
altered("documents_in_another_order", "first", ONE, edited_in(["documents"], lambda documents: documents[::-1]), CONSISTENT)
altered("openings_in_another_order", "first", [(1, "prompt"), (1, "response")], edited_in(["openings"], lambda all_: all_[::-1]), CONSISTENT)
altered("opening_twice", "first", ONE, edited_in(["openings"], lambda all_: all_ * 2), CONSISTENT)
altered("openings_of_two_sessions", "first", [(1, "prompt"), (1, "response")], edited_in(["openings", 1, "session_id"], lambda i: ZERO), CONSISTENT)
altered("header_of_another_block", "first", ONE, edited_in(["headers", 0, 1], lambda header: BLOCKS[HEIGHTS[3]][1]), CONSISTENT, "not_before")
altered("header_left_out", "first", ONE, edited_in(["headers"], lambda headers: headers[1:]), CONSISTENT, "not_before")
altered("header_more", "first", ONE, edited_in(["headers"], lambda headers: headers + headers[-1:]), CONSISTENT)
altered("header_at_another_height", "first", ONE, edited_in(["headers", 0, 0], lambda height: height + 1), CONSISTENT)
altered("headers_exchanged", "first", ONE, edited_in(["headers"], lambda headers: headers[::-1]), CONSISTENT, "not_before")
altered("head_of_another_text", "first", ONE, edited_in(["head"], lambda head: "hello\n"), CONSISTENT, TREE)
altered("head_by_a_stranger", "first", ONE, edited_in(["head"], lambda head: forged_head(head, STRANGER)), TREE, S)
altered("head_by_the_retired_key", "first", ONE, edited_in(["head"], lambda head: forged_head(head, FIRST)), TREE, S)
altered("head_r_with_a_part_of_order_2", "first", ONE, edited_in(["head"], lambda head: forged_head(head, Bent(SECOND, 4))), TREE, S)
altered("head_r_with_a_part_of_order_8", "first", ONE, edited_in(["head"], lambda head: forged_head(head, Bent(SECOND, 1))), TREE, S)
altered("head_of_another_origin", "first", ONE, edited_in(["head"], lambda head: forged_head(head, SECOND, "test/third")), CONSISTENT, TREE)
altered("head_malleable", "first", ONE, edited_in(["head"], lambda head: malleable_note(head.encode()).decode()), TREE, S)
altered("rotation_left_out", "second", ONE, lambda file: (file.file["documents"].pop(1), file.file["lines"].remove(file.at("key_rotate"))) and None, TREE, S)
altered("rotation_without_its_head", "second", ONE, edited_in(["lines", 1], lambda entry: entry[:3]), TREE, S)
altered("rotation_with_a_head_by_the_new_key", "second", ONE, edited_in(["lines", 1, 3, 0], lambda head: forged_head(head, SECOND)), TREE, S)
altered("rotation_with_a_head_by_a_stranger", "second", ONE, edited_in(["lines", 1, 3, 0], lambda head: forged_head(head, STRANGER)), TREE, S)
altered("rotation_with_a_later_head", "second", ONE, lambda file: file.at("key_rotate").__setitem__(3, [
    file.one.tree_head("x", FIRST, file.at("key_rotate")[0] + 2).decode(),
    inclusion(file.at("key_rotate")[0], file.rows[:file.at("key_rotate")[0] + 2])]), TREE, S)
altered("rotation_with_a_proof_that_fails", "second", ONE, edited_in(["lines", 1, 3, 1, 0], lambda node: ZERO), CONSISTENT, TREE, S)
altered("old_signer_changed", "second", ONE, edited_in(["documents", 1, "old_signer"], lambda key: STRANGER.text), CONSISTENT)
altered("proof_of_a_stamp_without_one", "first", ONE, lambda file: file.file["lines"][0].append([ZERO]), CONSISTENT)


def forged_head(head, key, origin=None):
    name, size, root = head.split("\n")[:3]
    return signed_note(origin or name, int(size), base64.b64decode(root), key).decode()


# -- one commitment that is of two texts, one by each scheme
def of_two_texts(scheme, change=None):
    """A ledger whose first prompt is committed to as one of them; somebody shows it as the other."""
    def make():
        honest = GROUND[1] if scheme == "hmac-sha256" else TWIN
        one = teller(scheme=scheme, hook=lambda what, which, text: honest if (what, which) == ("text", "prompt#1") else text)
        file = Opened(one, one.first, [(1, "prompt")])
        if change:
            shown = {"key": GROUND[0].hex(), "text": GROUND[1].decode()} if scheme == "sha256" else {"key": None, "text": TWIN.decode()}
            file.file["openings"][0].update(shown)
            change(file, teller(scheme="sha256" if scheme == "hmac-sha256" else "hmac-sha256"))
        return file.bytes()
    return make


def under_another_genesis(file, other):
    other = Opened(other, other.first, ONE)
    file.file["lines"][0], file.file["documents"][0] = other.file["lines"][0], other.file["documents"][0]


for _scheme in ("hmac-sha256", "sha256"):
    _name = "two_texts_" + _scheme.split("-")[0]
    opening("honest_" + _name, of_two_texts(_scheme), yes=GOOD)
    opening(_name + "_as_the_other", of_two_texts(_scheme, lambda file, other: None), COMMITMENT)
    opening(_name + "_under_another_genesis", of_two_texts(_scheme, under_another_genesis), CONSISTENT)
opening("record_of_another_model_than_its_line", opened("first", ONE, hook=hooked("document", "response#1", edit(model="another"))),
        CONSISTENT)


# -- files that are none
def no_file(name, change):
    opening(name, opened("first", ONE, change), code=2)


no_file("file_with_a_key_more", lambda file: file.file.update(note="hello"))
no_file("file_with_a_key_less", lambda file: file.file.pop("stamp") and None)
no_file("file_without_its_newline", lambda file: jcs(file.file))
no_file("file_with_spaces", lambda file: jcs(file.file).replace(b":", b": ") + b"\n")
no_file("file_without_openings", lambda file: file.file.update(openings=[]))
no_file("file_of_the_first_edition", lambda file: jcs({"format": "gently/1", "opening": file.file["openings"][0]}) + b"\n")
no_file("file_with_more_beside_than_allowed", lambda file: file.file.update(headers=file.file["headers"] * 500))
for named, wrong in (("null", None), ("negative", -1), ("beyond_json", 2 ** 53)):
    no_file("file_with_a_seq_%s" % named, edited_in(["openings", 0, "seq"], lambda seq, wrong=wrong: wrong))
for named, wrong in (("negative", -1), ("beyond_json", 2 ** 53)):
    no_file("file_with_a_line_index_%s" % named, edited_in(["lines", 1, 0], lambda index, wrong=wrong: wrong))
# As a double it is spelled otherwise.
no_file("file_with_a_number_of_31_digits", edited_in(["documents", 0, "created_at"], lambda time: 10 ** 30))
no_file("file_with_an_odd_number_from_two_to_the_53", edited_in(["documents", 0, "created_at"], lambda time: 2 ** 53 + 1))
no_file("file_with_an_unknown_role", edited_in(["openings", 0, "role"], lambda role: "trace"))


# -- what the owner of the key, or of an old one, can make
def under_a_retired_key():
    """A fork from before the rotation, by a thief of the first key."""
    one = teller(fork=True)
    return Opened(one, one.second, ONE).bytes()


opening("fork_by_a_retired_key", under_a_retired_key, S, yes=(CONSISTENT, COMMITMENT, TREE), code=1)
opening("honest_before_the_rotation", opened("first", ONE, fork=True), yes=GOOD, signers=[FIRST.text])
opening("key_that_the_checker_has_not", opened("first", ONE), S, signers=[STRANGER.text], code=1)


def home_made_block(file_network, genesis_network):
    """A session on a block of 2013 that was made at home."""
    made = {}

    def hook(on, name, value):
        if (on, name) == ("block", "session_start#1"):
            made["block"], made["header"] = regtest_block(value["height"], 1363000000)
            return {**made["block"], "network": file_network, "height": value["height"]}
        if (on, name) == ("header", "session_start#1"):
            return made["header"]
        return value

    def make():
        one = teller(network=genesis_network, hook=hook) if genesis_network == "bitcoin" else teller(network=genesis_network)
        file = Opened(one, one.first, ONE)
        if made:
            file.file["headers"][0][1] = made["header"]
        return file.bytes()
    return make


opening("bitcoin_that_calls_itself_regtest", home_made_block("regtest", "bitcoin"), CONSISTENT, "not_before")
opening("bitcoin_that_calls_itself_regtest_and_the_checker_too", home_made_block("regtest", "bitcoin"), CONSISTENT, "not_before",
        options=["--network", "regtest"])
opening("bitcoin_of_a_home_made_block", home_made_block("bitcoin", "bitcoin"), CONSISTENT, "not_before")


def home_made_both():
    """The block of the session and that of the stamp were made at home, and the ledger is one of bitcoin."""
    made = {}

    def hook(on, name, value):
        if (on, name) == ("block", "session_start#1"):
            made["block"], made["header"] = regtest_block(value["height"], 1363000000)
            return {**made["block"], "network": "regtest", "height": value["height"]}
        return made["header"] if (on, name) == ("header", "session_start#1") else value
    one = teller(hook=hook)
    file = Opened(one, one.first, ONE, stamp=stamped(one, 15, HEIGHTS[0] + 5, one.time + 600))
    file.file["headers"][0][1] = made["header"]
    return file.bytes()


opening("bitcoin_stamped_at_home", home_made_both, CONSISTENT, "not_before", "not_after", options=["--require", "not-after"])
opening("bitcoin_stamped_at_home_as_regtest", home_made_both, CONSISTENT, "not_before", "not_after",
        options=["--require", "not-after", "--network", "regtest"])
opening("regtest_required", home_made_block("regtest", "regtest"), "not_before", "not_after", options=["--require", "not-before"], code=1)
opening("regtest_named", home_made_block("regtest", "regtest"), yes=GOOD + ("not_before",),
        options=["--require", "not-before", "--network", "regtest"])
opening("dated_2010", opened("first", ONE, start=YEAR_2010), CONSISTENT)
opening("work_of_2009", opened("first", ONE, made={HEIGHTS[0]: called(170, 170)[170]}), "not_before", code=0)
opening("one_hash_at_two_heights", opened("first", ONE, made=called(HEIGHTS[1], HEIGHTS[0])), CONSISTENT)


def stamp_is(make, session="first", wanted=ONE, change=None, **kinds):
    def build():
        one = teller(network="regtest", **kinds)
        file = Opened(one, getattr(one, session), wanted, stamp=make(one))
        if change:
            change(file)
        return file.bytes()
    return build


def one_line(one, event):
    """How many lines are before an event's."""
    return find(one, event)


REGTEST = ["--network", "regtest"]
ENOUGH = 15                     # lines: all of the first session's opened ones are among them


def with_stamp(name, make, *questions, yes=(), options=REGTEST, **more):
    opening(name, stamp_is(make, **more), *questions, yes=yes, options=options)


with_stamp("honest_stamp", lambda one: stamped(one, ENOUGH, 9, one.time + 600), yes=GOOD + ("not_before", "not_after"))
with_stamp("honest_stamp_of_the_head", lambda one: stamped(one, len(one.lines), 9, one.time + 600), yes=GOOD + ("not_before", "not_after"))
with_stamp("honest_stamp_of_a_failure", lambda one: stamped(one, len(one.lines), 9, one.time + 600), yes=GOOD + ("not_before", "not_after"),
           wanted=[(3, "prompt")])
with_stamp("honest_stamp_before_the_outcome", lambda one: stamped(one, one_line(one, "response_fail"), 9, one.time + 600),
           yes=GOOD + ("not_before", "not_after"), wanted=[(3, "prompt")], change=lambda file: file.at("response_fail").pop() and None)
with_stamp("stamp_of_an_outcome_that_fails", lambda one: stamped(one, len(one.lines), 9, one.time + 600), "not_after", CONSISTENT,
           wanted=[(3, "prompt")], change=lambda file: file.at("response_fail")[3].__setitem__(0, ZERO))
with_stamp("stamp_on_regtest", lambda one: stamped(one, ENOUGH, 9, one.time + 600), "not_before", "not_after", yes=GOOD, options=[])
with_stamp("stamp_without_a_header", lambda one: stamped(one, ENOUGH, 9, one.time + 600, header=False), "not_after", yes=GOOD)
with_stamp("stamp_before_the_start", lambda one: stamped(one, ENOUGH, 4, one.time + 600), "not_after")
with_stamp("stamp_in_a_block_of_2013", lambda one: stamped(one, ENOUGH, 9, 1363000000), "not_after")
with_stamp("stamp_hours_before_the_line", lambda one: stamped(one, ENOUGH, 9, START - 7300), "not_after")
with_stamp("stamp_by_a_stranger", lambda one: stamped(one, ENOUGH, 9, one.time, key=STRANGER), "not_after", CONSISTENT)
with_stamp("stamp_by_the_newer_key", lambda one: stamped(one, ENOUGH, 9, one.time, key=SECOND), "not_after", CONSISTENT)
with_stamp("stamp_of_another_origin", lambda one: stamped(one, ENOUGH, 9, one.time, origin="test/third"), "not_after", CONSISTENT)
with_stamp("stamp_of_another_root", lambda one: stamped(one, ENOUGH, 9, one.time, root=bytes(32)), "not_after", CONSISTENT)
with_stamp("stamp_of_two_roots_of_one_size", lambda one: stamped(one, len(one.lines), 9, one.time, root=bytes(32)), "not_after", CONSISTENT)
with_stamp("stamp_before_the_opened_line", lambda one: stamped(one, 3, 9, one.time), "not_after", CONSISTENT)
with_stamp("stamp_with_a_proof_that_fails", lambda one: stamped(one, ENOUGH, 9, one.time), "not_after", CONSISTENT,
           change=lambda file: file.at("response")[3].__setitem__(0, ZERO))
with_stamp("stamp_without_a_proof", lambda one: stamped(one, ENOUGH, 9, one.time), "not_after", CONSISTENT,
           change=lambda file: file.at("response").pop() and None)
with_stamp("stamp_without_the_genesis", lambda one: stamped(one, ENOUGH, 9, one.time), "not_after", CONSISTENT,
           change=lambda file: file.at("genesis").pop() and None)
with_stamp("stamp_without_the_start", lambda one: stamped(one, ENOUGH, 9, one.time), "not_after", CONSISTENT,
           change=lambda file: file.at("session_start").pop() and None)
with_stamp("stamp_of_another_file", lambda one: {**stamped(one, ENOUGH, 9, one.time), "ots": base64.b64encode(ots(ZERO, 9)).decode()}, "not_after")
with_stamp("stamp_in_another_block", lambda one: {**stamped(one, ENOUGH, 9, one.time), "header": regtest_block(9, one.time)[1]}, "not_after")
with_stamp("stamp_that_waits", lambda one: (lambda stamp: {**stamp, "header": None, "ots": base64.b64encode(ots(h(
    stamp["checkpoint"].encode()))).decode()})(stamped(one, ENOUGH, 9, one.time)), "not_after", yes=GOOD)


def stamp_beyond_the_head():
    one = teller(network="regtest")
    file = Opened(one, one.first, ONE, size=ENOUGH, stamp=stamped(one, ENOUGH + 1, 9, one.time))
    rows = [line[:-1] for line in one.lines[:ENOUGH + 1]]
    for entry in file.file["lines"]:
        if len(entry) == 4:
            entry[3] = inclusion(entry[0], rows)
    return file.bytes()


opening("stamp_larger_than_the_head", stamp_beyond_the_head, CONSISTENT, "not_after", signers=[FIRST.text], options=REGTEST)


def two_roots():
    """A genesis of another scheme and network under a head of its own: one commitment as two texts."""
    one, two = teller(), teller(scheme="sha256")
    file, other = Opened(one, one.first, ONE), Opened(two, two.first, ONE)
    file.file["lines"][0], file.file["documents"][0] = other.file["lines"][0], other.file["documents"][0]
    return file.bytes()


opening("genesis_of_another_root", two_roots, CONSISTENT, COMMITMENT)


def write_openings(folder, wanted):
    index = []
    for name, (make, questions, yes, signers, options, code) in OPENINGS.items():
        if name not in wanted:
            continue
        put(os.path.join(folder, "openings", name + ".json"), make())
        if code is None:
            code = 1 if {CONSISTENT, COMMITMENT, TREE, S} & set(questions) else 0
        index.append({"name": name, "not_yes": list(questions), "yes": yes, "signers": signers or [FIRST.text, SECOND.text],
                      "options": options, "code": code})
    return index


def main():
    if sys.argv[1:] == ["--list"]:
        print("\n".join([*TAMPERS, *OPENINGS]))
        return
    folder = sys.argv[1]
    asked = sys.argv[2:]
    every = {"--ledgers": (list(TAMPERS), []), "--openings": ([], list(OPENINGS))}
    wanted, shown = every.get(asked[0], (asked, asked)) if asked else (list(TAMPERS), list(OPENINGS))
    wanted = [name for name in wanted if name in TAMPERS]
    index = []
    for name in wanted:
        function, questions, log, more = TAMPERS[name]
        path = os.path.join(folder, name)
        shutil.rmtree(path, ignore_errors=True)
        function(path)
        # The exit code speaks of consistent and complete, and of lines that nobody signed.
        code = 1 if {C, S, "complete"} & set(questions) else 0
        entry = {"name": name, "not_yes": list(questions), "log": log, "yes": [], "options": [], "code": code,
                 "signers": [FIRST.text, SECOND.text], **more}
        entry["options"] = [os.path.join(os.path.abspath(path), word) if word in ("headers", "policy") else word for word in entry["options"]]
        index.append(entry)
    put(os.path.join(folder, "index.json"), json.dumps({"signers": [FIRST.text, SECOND.text], "ledgers": index,
                                                             "openings": write_openings(folder, shown)}).encode())


if __name__ == "__main__":
    main()
