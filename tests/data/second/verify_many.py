#!/usr/bin/env python3
"""Runs scripts/verify.py over many ledgers: lists of arguments on standard input, verdicts on standard output.

    echo '[["ledger.git", "--json"], …]' | verify_many.py      prints [{"code": 0, "out": "…"}, …]

The script is loaded once; each list of arguments is given to its `main` in a process of its own, so that no run sees
anything of another, and as many of them run at once as there are processors. What ends a run ends it as it would end
the script.
"""
import contextlib
import importlib.util
import io
import json
import multiprocessing
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPT = os.path.join(HERE, "..", "..", "..", "scripts", "verify.py")
sys.dont_write_bytecode = True
SPEC = importlib.util.spec_from_file_location("verify", SCRIPT)
V = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(V)


def judged(arguments):
    sys.argv = [SCRIPT, *arguments]
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            code = V.main()
        except SystemExit as end:
            code = end.code
        except Exception as fault:  # the script says so itself when it is run, and ends with 2
            sys.stderr.write("verify: this script failed: %r\n" % fault)
            code = 2
    return {"code": code, "out": out.getvalue()}


if __name__ == "__main__":
    context = multiprocessing.get_context("fork")
    with context.Pool(maxtasksperchild=1) as pool:
        json.dump(pool.map(judged, json.load(sys.stdin), chunksize=1), sys.stdout)
