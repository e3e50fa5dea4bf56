#!/usr/bin/env python3
"""Runs scripts/verify.py over many opening files: [[path, [signers], network or null], …] on standard input.

Prints a list: the answers with the exit code, or null where the file is no opening file.
"""
import importlib.util
import json
import multiprocessing
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
SPEC = importlib.util.spec_from_file_location("verify", os.path.join(HERE, "..", "..", "scripts", "verify.py"))
V = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(V)


def judged(case):
    path, signers, network = case
    try:
        pinned = [key for text in signers for key in V.read_signers(text)] or None
        report = V.CheckOpening(path, pinned, None, None, network).report()
        due = ("consistent", "commitment", "tree_head") + (("signed_by",) if pinned else ())
        return {"answers": report["answers"], "code": 1 if any(report["answers"][name] != "yes" for name in due) else 0,
                "why": report["findings"]}
    except V.CannotLook as error:
        return {"answers": None, "code": 2, "why": str(error)}
    except Exception as fault:
        return {"answers": None, "code": "verify.py failed: %r" % fault, "why": ""}


if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as pool:
        json.dump(pool.map(judged, json.load(sys.stdin), chunksize=8), sys.stdout)
