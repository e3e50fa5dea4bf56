"""Has the programs themselves write what is imported: `llm` its logs.db, the adaptive utility agent its
state store and its files of 0.7. The first argument says which, the second is a folder for it. What the program
itself reads of them is printed as JSON."""

import json
import pathlib
import sys
import types

folder = pathlib.Path(sys.argv[2])


def llm_logs():
    import llm
    import sqlite_utils
    from llm.cli import load_conversation
    from llm.logs import LogStore
    from llm.migrations import migrate
    from llm.plugins import pm

    class Echo(llm.Model):
        model_id = "echo"
        can_stream = False
        attachment_types = {"image/png"}

        def execute(self, prompt, stream, response, conversation):
            yield "You said: " + (prompt.prompt or "").upper()

    class Plugin:
        @llm.hookimpl
        def register_models(self, register):
            register(Echo())

    pm.register(Plugin())
    path = folder / "logs.db"
    db = sqlite_utils.Database(path)
    migrate(db)
    # A conversation of an older version, which went on in this one.
    db["conversations"].insert({"id": "legacy", "name": "Of an older version", "model": "echo"})
    db["responses"].insert(
        {
            "id": "01old",
            "model": "echo",
            "prompt": "the first",
            "system": "Be loud.",
            "response": "You said: THE FIRST",
            "conversation_id": "legacy",
            "options_json": "{}",
            "datetime_utc": "2024-01-02T03:04:05.678901",
        }
    )
    legacy = load_conversation("legacy", database=str(path))
    response = legacy.prompt("the second")
    response.text()
    response.log_to_db(db)
    # A new one, with a fragment and an attachment, and a branch.
    model = llm.get_model("echo")
    talk = model.conversation()
    fragment = "A fragment that is long enough to be kept apart. " * 3
    first = talk.prompt(
        "about it",
        system="Be brief.",
        fragments=[fragment],
        attachments=[llm.Attachment(type="image/png", content=b"\x89PNG")],
    )
    first.text()
    first.log_to_db(db)
    second = talk.prompt("and then?")
    second.text()
    second.log_to_db(db)
    store = LogStore(db)
    tip = store.thread_tip(talk.id)
    store.fork(tip, name="A branch", forked_from=talk.id)
    read = {}
    for thread in db["threads"].rows:
        chain = store.load_chain(thread["tip_message_hash"])
        texts = [[m.role, [p.text for p in m.parts if hasattr(p, "text")]] for m in chain]
        read[thread["id"]] = texts
    db.close()
    return read


def aua_module(name):
    """A module of the package, without what its other modules need."""
    import importlib

    if "aua" not in sys.modules:
        found = [pathlib.Path(p) / "aua" for p in sys.path if (pathlib.Path(p) / "aua" / "state.py").exists()]
        package = types.ModuleType("aua")
        package.__path__ = [str(found[0])]
        sys.modules["aua"] = package
    return importlib.import_module("aua." + name)


def aua_store():
    state = aua_module("state")
    store = state.SQLiteStateStore(folder / "aua.db")
    with store._connect() as db:
        db.execute("INSERT INTO projects(project_id, name) VALUES ('p', 'Immigration Law')")
        db.execute("INSERT INTO conversations(conversation_id, title, project_id) VALUES ('c', 'Visa', 'p')")
        for n, (role, text) in enumerate([("user", "May I stay?"), ("assistant", "For ninety days.")]):
            db.execute(
                "INSERT INTO messages(message_id, conversation_id, role, content, models_used) VALUES (?, 'c', ?, ?, ?)",
                (str(n), role, text, json.dumps(["law"]) if n else None),
            )
    store.append(
        "corrections",
        {
            "subject": "stay",
            "domain": "law",
            "claim": "ninety days",
            "rejected": "six months",
            "confidence": 0.9,
            "effective_confidence": 0.9,
            "decay_class": "B",
        },
    )
    store.append(
        "promotions",
        {"specialist": "law", "event": "promote", "from_model": "a", "to_model": "b", "metadata": {"u": 0.5}},
    )
    for n in range(3):
        store.append_audit(
            {
                "event_type": "query",
                "session_id": "s",
                "trace_id": "",
                "field": "law",
                "u_score": 0.1 * n,
                "latency_ms": 1.5e-7,
                "details": {"contradictions": n, "größe": ["ä", None, True]},
            }
        )
    # Not all that is hashed is in a row: a number that is whole is kept as another one.
    store.append_audit({"event_type": "query", "u_score": 1})
    with store._connect() as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for beside in folder.glob("aua.db-*"):
        beside.unlink()
    return [dict(row) for row in store.query("audit_log", order_by="rowid")]


def aua_files():
    state = aua_module("state")
    (folder / ".aua/state").mkdir(parents=True)
    (folder / "dpo_pairs").mkdir()
    event = {
        "id": "1",
        "timestamp": "2024-01-02T03:04:05+00:00",
        "specialist": "law",
        "from_model": "a",
        "to_model": "b",
        "event": "promote",
        "u_delta": 0.25,
        "reverted": False,
        "reverted_at": None,
    }
    (folder / ".aua/state/promotions.jsonl").write_text(json.dumps(event) + "\n")
    pair = {
        "prompt": "stay",
        "chosen": "ninety days",
        "rejected": "six months",
        "domain": "law",
        "confidence": 0.9,
        "source": "arbiter",
    }
    (folder / "dpo_pairs/dpo_pairs_1.jsonl").write_text(json.dumps(pair) + "\n")
    store = state.SQLiteStateStore(folder / "migrated.db")
    store.migrate_from_files(str(folder))
    store.migrate_from_files(str(folder))
    return {"promotions": store.query("promotions"), "corrections": store.query("corrections")}


print(json.dumps({"llm": llm_logs, "aua": aua_store, "aua-files": aua_files}[sys.argv[1]]()))
