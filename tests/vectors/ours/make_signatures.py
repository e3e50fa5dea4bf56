#!/usr/bin/env python3
"""Makes signatures.json: signatures over SSHSIG data (namespace git, sha512), good ones and ones made to fool an equation.

Plain affine arithmetic on the curve, by nobody's library. `holds` is the answer of the one predicate (format, section 6);
a test asks `ssh-keygen -Y verify` for its own, which may be laxer and never stricter.
"""

import hashlib
import json
import os
import sys

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
I = pow(2, (P - 1) // 4, P)


def add(a, b):
    (x1, y1), (x2, y2) = a, b
    t = D * x1 * x2 * y1 * y2 % P
    x = (x1 * y2 + x2 * y1) * pow(1 + t, P - 2, P) % P
    y = (y1 * y2 + x1 * x2) * pow(1 - t, P - 2, P) % P
    return x, y


def mul(n, point):
    out = (0, 1)
    while n:
        if n & 1:
            out = add(out, point)
        point, n = add(point, point), n >> 1
    return out


def neg(point):
    return -point[0] % P, point[1]


def x_of(y, odd):
    xx = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(xx, (P + 3) // 8, P)
    if (x * x - xx) % P:
        x = x * I % P
    if (x * x - xx) % P:
        return None
    return P - x if x % 2 != odd and x else x


def encode(point):
    return (point[1] | (point[0] & 1) << 255).to_bytes(32, "little")


B = (x_of(4 * pow(5, P - 2, P) % P, 0), 4 * pow(5, P - 2, P) % P)


def torsion():
    """A point of order 8, and its eight multiples."""
    y = 2
    while True:
        x = x_of(y, 0)
        if x is not None:
            point = mul(L, (x, y))
            if mul(4, point) != (0, 1):
                return [mul(n, point) for n in range(8)]
        y += 1


T = torsion()
ORDER = {0: 1, 4: 2, 2: 4, 6: 4, 1: 8, 3: 8, 5: 8, 7: 8}


def string(b):
    return len(b).to_bytes(4, "big") + b


def signed_data(message):
    return b"SSHSIG" + string(b"git") + string(b"") + string(b"sha512") + string(hashlib.sha512(message).digest())


def secret(seed):
    h = bytearray(hashlib.sha512(seed).digest()[:32])
    h[0] &= 248
    h[31] = h[31] & 63 | 64
    return int.from_bytes(h, "little")


def challenge(r, a, message):
    return int.from_bytes(hashlib.sha512(r + a + signed_data(message)).digest(), "little") % L


CASES = []


def case(name, key, message, r, s, holds):
    CASES.append({"name": name, "key": key.hex(), "message": message.hex(),
                  "signature": (r + s.to_bytes(32, "little")).hex(), "holds": holds})


def nonce(name, n=0):
    return int.from_bytes(hashlib.sha512(name.encode() + n.to_bytes(4, "big")).digest(), "little") % L


def main():
    a = secret(b"\x11" * 32)
    key = mul(a, B)
    A = encode(key)

    def honest(name, message):
        k = nonce(name)
        r = encode(mul(k, B))
        return r, (k + challenge(r, A, message) * a) % L

    for n in range(4):
        message = b"honest %d" % n
        r, s = honest(message.decode(), message)
        case(message.decode(), A, message, r, s, True)
    r, s = honest("another text", b"this text")
    case("another text", A, b"that text", r, s, False)

    # s in a second spelling, as often as 256 bits hold it.
    for n in (1, 2, 8, 14):
        r, s = honest("long", b"long")
        case(f"s + {n}L", A, b"long", r, s + n * L, False)

    # R with a part of small order: an equation with a cofactor lets it pass.
    for n in range(1, 8):
        name, k = f"R of mixed order, part of order {ORDER[n]} ({n})", nonce("torsion %d" % n)
        r = encode(add(mul(k, B), T[n]))
        s = (k + challenge(r, A, name.encode()) * a) % L
        case(name, A, name.encode(), r, s, False)

    # R of small order: s = ha, so that sB - hA is nothing at all.
    for n in range(8):
        name, r = f"R of order {ORDER[n]} ({n})", encode(T[n])
        case(name, A, name.encode(), r, challenge(r, A, name.encode()) * a % L, False)

    # R and A in encodings with y not below p, and x = 0 with the sign bit.
    odd = {"neutral, y = p + 1": P + 1, "order 4, y = p": P, "neutral with sign": 1 | 1 << 255,
           "order 2 with sign": P - 1 | 1 << 255, "neutral, y = p + 1, with sign": P + 1 | 1 << 255,
           "order 4, y = p, with sign": P | 1 << 255}
    for name, value in odd.items():
        e = value.to_bytes(32, "little")
        case(f"R {name}", A, name.encode(), e, challenge(e, A, name.encode()) * a % L, False)
        k = nonce("A " + name)
        r = encode(mul(k, B))
        case(f"A {name}", e, name.encode(), r, k, False)
    # A second encoding of a point that is not of small order: nobody knows its logarithm, so nothing to sign with it;
    # R alone can be such a point when the check takes points and not bytes.
    y = next(y for y in range(2, 19) if x_of(y, 0) is not None and encode((x_of(y, 0), y)) not in map(encode, T))
    e = (y + P).to_bytes(32, "little")
    case("A is no small point, y not below p", e, b"second encoding", encode(B), 1, False)
    case("R is no small point, y not below p", A, b"second encoding", e, 1, False)

    # A of small order: anything can be signed with it, by luck of h.
    for n in range(8):
        e, name = encode(T[n]), f"A of order {ORDER[n]} ({n})"
        at = 0
        while True:
            k = nonce(name, at)
            r = encode(mul(k, B))
            if challenge(r, e, name.encode()) % ORDER[n] == 0:
                break
            at += 1
        case(name, e, name.encode(), r, k, False)

    # A of mixed order is a key all the same: the predicate takes h as it is, and R has to be what comes out.
    for n in (1, 2, 4):
        mixed = add(key, T[n])
        e = encode(mixed)
        for divides in (True, False):
            name = f"A of mixed order {ORDER[n]}, h {'' if divides else 'not '}a multiple of it"
            at = 0
            while True:
                k = nonce(name, at)
                r = encode(mul(k, B))
                h = challenge(r, e, name.encode())
                if (h % ORDER[n] == 0) == divides:
                    break
                at += 1
            case(name, e, name.encode(), r, (k + h * a) % L, divides)
        # And R with just the part that makes it so.
        name, at = f"A and R of mixed order {ORDER[n]} that fit", 0
        while True:
            k, part = nonce(name, at), T[(8 - n) % 8]
            r = encode(add(mul(k, B), part))
            h = challenge(r, e, name.encode())
            if mul(h, T[n]) == neg(part):
                break
            at += 1
        case(name, e, name.encode(), r, (k + h * a) % L, True)
    case("no point at all as A", b"\xff" * 32, b"none", encode(B), 1, False)
    case("no point at all as R", A, b"none", b"\xff" * 32, 1, False)
    case("nothing but zeros", A, b"zeros", b"\0" * 32, 0, False)

    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "signatures.json"), "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(case) for case in CASES) + "\n]\n")


if __name__ == "__main__":
    sys.exit(main())
