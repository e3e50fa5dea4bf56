#!/usr/bin/env python3
"""Makes small folders that cost a careless reader its memory, its time, or its life.

    make_resources.py FOLDER [NAME…]      writes FOLDER/NAME/… and FOLDER/index.json

Each is an honest ledger of make_ledgers.py, signed by its owner, with one trap in it; together they are a few MB on disk.
A verifier ends with 1 or 2 over each, within 600 MB and 60 seconds, and never with 0. The comments say what was seen, or
what would be, without a limit.
"""
import hashlib
import json
import os
import shutil
import struct
import subprocess
import sys
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import make_ledgers as M  # noqa: E402

RESOURCES = {}
MIB = 1 << 20


def resource(function):
    RESOURCES[function.__name__] = function
    return function


def zeros(kind, size, said=None):
    """(name, bytes of the file) of a loose object of so many zeros, whose header says another size if `said` is given."""
    head = ("%s %d\0" % (kind, size if said is None else said)).encode()
    digest, packer, piece = hashlib.sha1(head), zlib.compressobj(9), bytes(MIB)
    parts = [packer.compress(head)]
    for left in range(size, 0, -MIB):
        digest.update(piece[:left])
        parts.append(packer.compress(piece[:left]))
    return digest.hexdigest(), b"".join(parts) + packer.flush()


def loose(one, name, raw):
    """Puts a file where a loose object is, whatever it holds."""
    one.extra.append(lambda folder: M.put(os.path.join(folder, "ledger.git", "objects", name[:2], name[2:]), raw))


def tree_of(entries):
    raw = b"".join(mode + b" " + name + b"\0" + bytes.fromhex(oid) for mode, name, oid in entries)
    return M.V.hashlib.sha1(b"tree %d\0" % len(raw) + raw).hexdigest(), b"tree %d\0" % len(raw) + raw


def with_tree(which, entries, more):
    """A ledger one of whose commits has the tree of these entries."""
    name, raw = tree_of(entries)
    one = M.scenario(M.hooked("tree", which, lambda tree: name))
    one.objects[name] = raw
    for oid, data in more:
        loose(one, oid, data)
    return one


def notes(one, tree, ref="refs/notes/ots"):
    one.refs[ref] = one.put("commit", (
        "tree %s\nauthor n <n@n> 1707113500 +0000\ncommitter n <n@n> 1707113500 +0000\n\nnotes\n" % tree).encode())


@resource
def blob_named_many_times(folder):
    """332 KB of this were 7.4 GB of memory: trees that name one blob of 300 MB under every name."""
    big = zeros("blob", 300 * MIB)
    names = sorted([b"chain_entry", b"prompt_hash", b"record.json", b"response_hash", b"session"] + [b"x%03d" % n for n in range(200)])
    with_tree("interaction#2", [(b"100644", name, big[0]) for name in names], [big]).write(folder)


@resource
def segment_of_a_large_blob(folder):
    big = zeros("blob", 300 * MIB)
    names = [b"audit.log", b"checkpoint", b"checkpoint.json"]
    with_tree("checkpoint#1", [(b"100644", name, big[0]) for name in names], [big]).write(folder)


@resource
def object_that_says_less_than_it_holds(folder):
    big = zeros("blob", 400 * MIB, 100)
    with_tree("interaction#2", [(b"100644", b"record.json", big[0])], [big]).write(folder)


@resource
def tree_of_a_large_tree(folder):
    big = zeros("tree", 300 * MIB)
    one = M.scenario(M.hooked("tree", "interaction#2", lambda tree: big[0]))
    loose(one, *big)
    one.write(folder)


@resource
def ref_to_a_large_commit(folder):
    big = zeros("commit", 300 * MIB)
    one = M.scenario()
    loose(one, *big)
    one.refs["refs/heads/branch-4"] = big[0]
    one.write(folder)


@resource
def notes_of_256_to_the_20(folder):
    """Each of twenty trees names the next one 256 times."""
    one = M.scenario()
    child = one.put("blob", b"note")
    for level in range(20):
        mode = b"100644" if level == 0 else b"40000"
        name, raw = tree_of([(mode, b"%02x" % n, child) for n in range(256)])
        one.objects[name] = raw
        child = name
    notes(one, child)
    notes(one, child, "refs/notes/witness")
    one.write(folder)


@resource
def notes_of_two_levels_of_one_tree(folder):
    """Fifteen million notes, in three trees."""
    one = M.scenario()
    child = one.put("blob", b"note")
    for mode, digits, count in ((b"100644", 36, 240), (b"40000", 2, 256), (b"40000", 2, 256)):
        name, raw = tree_of([(mode, b"%0*x" % (digits, n), child) for n in range(count)])
        one.objects[name] = raw
        child = name
    notes(one, child)
    notes(one, child, "refs/notes/witness")
    one.write(folder)


@resource
def segment_of_newlines(folder):
    """A reader that looks at each line of it took four seconds for a megabyte."""
    M.scenario(M.hooked("segment", "main#2", lambda segment: b"\n" * (60 * MIB))).write(folder)


@resource
def log_of_newlines(folder):
    """The last line is the one that a commit names, so that all before it count as signed."""
    one = M.scenario()
    one.seal()
    at = M.find(one, "response", -1)
    one.lines[at:at] = [b"\n" * (60 * MIB)]
    one.write(folder)


@resource
def log_ends_with_newlines(folder):
    one = M.scenario()
    one.seal()
    one.lines.append(b"\n" * (60 * MIB))
    one.write(folder)


def longer(name, size):
    def change(folder):
        os.truncate(os.path.join(folder, name), size)
    return change


@resource
def log_that_ends_with_gigabytes_of_nothing(folder):
    one = M.scenario()
    one.extra.append(longer("audit.log", 3 << 30))
    one.write(folder)


@resource
def checkpoint_of_gigabytes(folder):
    one = M.scenario()
    one.extra.append(longer("audit.checkpoint", 3 << 30))
    one.write(folder)


@resource
def packed_refs_of_gigabytes(folder):
    one = M.scenario()
    M.pack(one)
    one.extra.append(longer("ledger.git/packed-refs", 3 << 30))
    one.write(folder)


@resource
def commits_with_hundreds_of_parents(folder):
    """Ten rows of three hundred commits; each has all of the row before as parents."""
    one = M.scenario()
    tree, row = one.tree({}), [one.main]
    for level in range(10):
        parents = "".join("parent %s\n" % oid for oid in row)
        row = [one.put("commit", ("tree %s\n%sauthor n <n@n> %d +0000\ncommitter n <n@n> 1 +0000\n\nx\n" % (
            tree, parents, n)).encode()) for n in range(300)]
    one.refs["refs/heads/branch-4"] = row[0]
    one.write(folder)


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


@resource
def small_objects_on_a_large_base(folder):
    """A pack whose commits are deltas of a commit of 200 MB: each says that it is small, and to make one, all of it is inflated."""
    one = M.scenario()
    base, base_file = zeros("commit", 200 * MIB)
    body = zlib.compressobj(9)
    data = b"".join(body.compress(bytes(MIB)) for _ in range(200)) + body.flush()

    def entry(kind, size):
        first, size = kind << 4 | size & 15, size >> 4
        out = bytearray()
        while size:
            out.append(first | 128)
            first, size = size & 127, size >> 7
        out.append(first)
        return bytes(out)
    tree, parent = one.tree({}), one.main
    objects, tips = [entry(1, 200 * MIB) + data], []
    for n in range(60):
        raw = ("tree %s\nparent %s\nauthor n <n@n> %d +0000\ncommitter n <n@n> 1 +0000\n\nx\n" % (tree, parent, n)).encode()
        delta = varint(200 * MIB) + varint(len(raw)) + b"".join(bytes([len(part)]) + part for part in (
            raw[at:at + 127] for at in range(0, len(raw), 127)))
        objects.append(entry(7, len(delta)) + bytes.fromhex(base) + zlib.compress(delta))
        parent = hashlib.sha1(b"commit %d\0" % len(raw) + raw).hexdigest()
        tips.append(parent)
    pack = b"PACK" + struct.pack(">II", 2, len(objects)) + b"".join(objects)
    pack += hashlib.sha1(pack).digest()
    one.refs["refs/heads/branch-4"] = tips[-1]

    def change(written):
        name = os.path.join(written, "ledger.git", "objects", "pack", "pack-%s.pack" % pack[-20:].hex())
        M.put(name, pack)
        subprocess.run(["git", "-c", "pack.threads=1", "index-pack", name], check=True, stdout=subprocess.DEVNULL)
    one.extra.append(change)
    one.write(folder)


@resource
def documents_of_many_values(folder):
    """64 KB of the shortest values that there are, in each record."""
    def hook(on, name, value):
        return b"[" + b"[],[[]],{}," * 5900 + b"0]" if on == "json" and name.startswith("response") else value
    M.scenario(hook).write(folder)


# -- opening files
def of_text(name, make):
    def write(folder):
        M.put(os.path.join(folder, "opening.json"), make())
    RESOURCES[name] = write


of_text("opening_of_brackets", lambda: b"[" * (30 * MIB))
of_text("opening_of_many_values", lambda: b"[" + b"[]," * (10 * MIB) + b"0]\n")
of_text("opening_of_a_number", lambda: b"1" * (30 * MIB) + b"\n")
of_text("opening_of_many_lines", lambda: M.opened("first", M.ONE, lambda file: file.file["lines"].extend(file.file["lines"] * 20000))())
of_text("opening_of_long_proofs", lambda: M.opened("first", M.ONE, lambda file: file.file["lines"][2][2].extend([M.ZERO] * 100000))())


def main():
    folder, index = sys.argv[1], []
    for name in sys.argv[2:] or RESOURCES:
        path = os.path.join(folder, name)
        shutil.rmtree(path, ignore_errors=True)
        RESOURCES[name](path)
        index.append({"name": name, "opening": os.path.exists(os.path.join(path, "opening.json"))})
    M.put(os.path.join(folder, "index.json"), json.dumps({"resources": index}).encode())


if __name__ == "__main__":
    main()
