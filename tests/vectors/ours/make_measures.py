#!/usr/bin/env python3
"""Makes measures.json: of some exchanges the signed bytes of the generic trace, the commitment to them, and the exchange
document with its commitment. Written from docs/format.md and the table of traces; shares no code with gently.

    python3 make_measures.py > measures.json
"""
import hashlib
import hmac
import json
from fractions import Fraction
from datetime import datetime, timezone

SALT = bytes(range(0x40, 0x60))
ZERO = "0" * 64


def key_of(role):
    return hmac.new(SALT, b"gently/1/" + role.encode(), hashlib.sha256).digest()


def commit(role, text):
    return hmac.new(key_of(role), text.encode(), hashlib.sha256).hexdigest()


def jcs(value):
    """Canonical JSON of whole numbers and ASCII keys."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def fraction(value):
    """At most four places, half to even, shortest, with at least one: as Python prints the float."""
    return float(round(Fraction(value), 4))


def time(seconds):
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def idma(one):
    k, same = one["sources"], one["same_pairs"]
    pairs = k * (k - 1) // 2
    rho = Fraction(same, pairs) if pairs else None
    k_eff = Fraction(k) / (1 + rho * (k - 1)) if rho is not None else Fraction(k)
    data = {"k_eff": fraction(k_eff)}
    if rho is not None:
        data["correlation_risk"] = fraction(rho)
    if k:
        data["phase"] = "chaos" if one["is_in_conflict"] else "rigidity" if same == pairs else "healthy"
    data["fragility_flag"] = bool(k_eff < 2 or (k and same == pairs) or (rho is not None and rho > Fraction(7, 10)))
    return data


def conscience(case):
    checks, answered = case["checks"], case["end"] in ("answered", "withheld")
    blocked = any(level == "blocking" and not passed for _, level, passed in checks)
    data = {"action_was_overridden": case["end"] == "withheld", "conscience_passed": bool(checks) and not blocked,
            "ethical_faculties_skipped": not (answered and checks)}
    if checks:
        data["optimization_veto_passed"] = not blocked
    coherent = [p for n, _, p in checks if n in ("evidence.contradicts_sight", "evidence.unknown_artifact") or n.startswith("schema.")]
    if coherent:
        data["coherence_passed"] = all(coherent)
    humble = [p for n, _, p in checks if n == "tone.certainty"]
    if humble:
        data["epistemic_humility_passed"] = all(humble)
    return data


def action(case, doc):
    data = {"execution_success": case["end"] not in ("withheld", "failed"), "audit_entry_hash": case["prompt_line_hash"],
            "audit_sequence_number": case["prompt_line"] + 1}
    if case["measures"]["model_ms"] is not None:
        data["execution_time_ms"] = case["measures"]["model_ms"]
    for name, key in (("tokens_input", "prompt_tokens"), ("tokens_output", "completion_tokens")):
        if doc[key] is not None:
            data[name] = doc[key]
    if len({"tokens_input", "tokens_output"} & data.keys()) == 2:
        data["tokens_total"] = data["tokens_input"] + data["tokens_output"]
    if doc["cost"] and doc["cost"]["currency"] == "USD":
        data["cost_cents"] = fraction(Fraction(doc["cost"]["micro"], 10_000))
    return data


def signed(case, doc):
    asked, answered = time(doc["asked_at"]), time(doc["answered_at"])
    measures = case["measures"]
    selected = {"denied": "REJECT", "not_compiled": "DEFER"}.get(case["end"], "SPEAK")
    has_conflicts = measures["is_in_conflict"] or doc["authority_state"] != "ok"
    steps = [("THOUGHT_START", "observation", asked, {"round_number": doc["seq"], "thought_depth": measures["depth"]}),
             ("SNAPSHOT_AND_CONTEXT", "context", asked, {"cognitive_state": "work"}),
             ("DMA_RESULTS", "rationale", asked, {"pdma": {"has_conflicts": has_conflicts}}),
             ("IDMA_RESULT", "rationale", asked, idma(measures)),
             ("ASPDMA_RESULT", "rationale", asked, {"is_recursive": False, "selected_action": selected}),
             ("CONSCIENCE_RESULT", "conscience", answered, conscience(case)),
             ("ACTION_RESULT", "action", answered, action(case, doc))]
    components = [{"component_type": kind, "data": data, "event_type": event, "timestamp": at} for event, kind, at, data in steps]
    return json.dumps({"components": components, "trace_level": "generic"}, sort_keys=True, separators=(",", ":"))


def measures(**changes):
    base = {"compile_ms": 12, "depth": 2, "door": "ask", "first_byte_ms": 310, "is_in_conflict": False, "judge_ms": 3,
            "model_ms": 1204, "program": "gently 0.1.0", "same_pairs": 4, "sources": 6}
    return {**base, **changes}


def document(**changes):
    base = {"answered_at": 1770554098, "artifacts": [], "asked_at": 1770554096, "aurora_text": commit("aurora_text", "It is fine."),
            "authority_state": "ok", "bundle": commit("bundle", "{}"), "compiled_prompt": commit("compiled_prompt", "[]"),
            "completion_tokens": 47, "cost": {"currency": "USD", "micro": 2050}, "decision": "allow", "drift": [],
            "exchange_id": "2ff71007-35f7-87aa-bc3b-285e1edea21f", "exclusions": [], "format": "gently/1", "kernel_hash": ZERO,
            "model": "openai/small-1b", "outcome": "answered",
            "params": {"max_tokens": None, "seed": None, "temperature": None}, "prompt_tokens": 1800, "reason": None,
            "refusal": False, "seq": 7, "session_id": "11" * 32, "user_text": commit("user_text", "How is it?"), "validator": None}
    return {**base, **changes}


CHECKS = [["authority.claimed_side_effect", "blocking", True], ["evidence.unknown_artifact", "soft", True],
          ["schema.shape", "soft", False], ["tone.certainty", "info", True]]
BLOCKED = [["authority.claimed_side_effect", "blocking", False]]
UNANSWERED = {"aurora_text": None, "completion_tokens": None, "cost": None, "prompt_tokens": None, "refusal": None}
UNCALLED = {**UNANSWERED, "bundle": None, "compiled_prompt": None, "params": None}
NOTHING = {"first_byte_ms": None, "judge_ms": None, "model_ms": None}
NO_SOURCES = {"same_pairs": 0, "sources": 0}
CASES = [
    ("answered", "answered", measures(), CHECKS, document()),
    ("in conflict, in euros", "answered", measures(is_in_conflict=True, sources=3, same_pairs=3), CHECKS[3:],
     document(cost={"currency": "EUR", "micro": 5})),
    ("of the observer", "answered", measures(first_byte_ms=None, model_ms=None, sources=2, same_pairs=0, door="chat"), CHECKS,
     document(model="observer", cost=None, prompt_tokens=None, completion_tokens=None)),
    ("withheld", "withheld", measures(depth=0), BLOCKED, document()),
    ("failed", "failed", measures(**NOTHING), [], document(**UNANSWERED, outcome="failed", reason="timeout")),
    ("denied", "denied", measures(**NOTHING, **NO_SOURCES), [],
     document(**UNCALLED, outcome="denied", reason="authority.denied", decision="deny", authority_state="blocked")),
    ("compile failed", "not_compiled", measures(**NOTHING, **NO_SOURCES), [],
     document(**UNCALLED, outcome="failed", reason="compile.window")),
    ("from before", "answered", None, CHECKS, document()),
]


def main():
    out = []
    for name, end, measured, checks, doc in CASES:
        case = {"name": name, "end": end, "checks": checks, "measures": measured, "prompt_line": 41,
                "prompt_line_hash": hashlib.sha256(name.encode()).hexdigest(), "m": None, "trace_commitment": None}
        if measured:
            case["m"] = signed(case, doc)
            case["trace_commitment"] = commit("trace", case["m"])
            doc = {**doc, "measures": measured, "trace": {"commitment": case["trace_commitment"], "mapping": "gently.trace/1"}}
        case["document"] = jcs(doc)
        case["exchange_commitment"] = commit("exchange", case["document"])
        out.append(case)
    whole = {"cases": out, "salt": SALT.hex(), "trace_key": key_of("trace").hex()}
    print(json.dumps(whole, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
