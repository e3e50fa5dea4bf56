// What `gently share --html` puts into its page: a verifier of opening files (docs/format.md, sections 11.1 and
// 12), and below it the few lines that show what it found. It asks nobody, loads nothing, keeps nothing.
//
// The verifier is written from docs/format.md and shares no line with the program or with scripts/verify.py. It
// uses nothing of the browser but numbers, strings and byte arrays: hashes, signatures and proofs are in here, so that
// no browser has to have them, and so that one predicate decides (section 6.1), not a library's.
'use strict';

const gentlyOpening = (() => {
  // ---- Bytes -------------------------------------------------------------------------------------------------

  const utf8 = (text) => new TextEncoder().encode(text);

  const concat = (...parts) => {
    const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of parts) {
      all.set(part, at);
      at += part.length;
    }
    return all;
  };

  const same = (a, b) => a.length === b.length && a.every((byte, at) => byte === b[at]);

  const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

  const unhex = (text) => Uint8Array.from(text.match(/../g) || [], (pair) => parseInt(pair, 16));

  const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

  const base64 = (bytes) => {
    let text = '';
    for (let at = 0; at < bytes.length; at += 3) {
      const n = (bytes[at] << 16) | ((bytes[at + 1] || 0) << 8) | (bytes[at + 2] || 0);
      text += BASE64[n >> 18] + BASE64[(n >> 12) & 63];
      text += at + 1 < bytes.length ? BASE64[(n >> 6) & 63] : '=';
      text += at + 2 < bytes.length ? BASE64[n & 63] : '=';
    }
    return text;
  };

  const BASE64_VALUES = new Map(Array.from(BASE64, (digit, value) => [digit.charCodeAt(0), value]));

  // The one spelling with padding, or null: no other digit, no blank, no bit that is thrown away.
  const unbase64 = (text) => {
    if (text.length % 4 !== 0) return null;
    const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
    const bytes = new Uint8Array((text.length / 4) * 3 - padding);
    let held = 0;
    let bits = 0;
    let out = 0;
    for (let at = 0; at < text.length - padding; at += 1) {
      const value = BASE64_VALUES.get(text.charCodeAt(at));
      if (value === undefined) return null;
      held = ((held << 6) | value) & 0xffff;
      bits += 6;
      if (bits >= 8) {
        bits -= 8;
        bytes[out] = (held >> bits) & 255;
        out += 1;
      }
    }
    return (held & ((1 << bits) - 1)) === 0 ? bytes : null;
  };

  const be64 = (number) => {
    const bytes = new Uint8Array(8);
    new DataView(bytes.buffer).setBigUint64(0, BigInt(number));
    return bytes;
  };

  // ---- Hashes ------------------------------------------------------------------------------------------------

  // The constants of SHA-2 are the first bits behind the point of roots of the first primes.
  const PRIMES = [];
  for (let n = 2; PRIMES.length < 80; n += 1) {
    if (PRIMES.every((prime) => n % prime !== 0)) PRIMES.push(n);
  }
  const root = (degree, n) => {
    let low = 0n;
    let high = 1n << 80n;
    while (high - low > 1n) {
      const middle = (low + high) >> 1n;
      if (middle ** degree <= n) low = middle;
      else high = middle;
    }
    return BigInt.asUintN(64, low);
  };
  const CUBES = PRIMES.map((prime) => root(3n, BigInt(prime) << 192n));
  const SQUARES = PRIMES.slice(0, 8).map((prime) => root(2n, BigInt(prime) << 128n));
  const K256 = Uint32Array.from(CUBES.slice(0, 64), (n) => Number(n >> 32n));
  const H256 = Uint32Array.from(SQUARES, (n) => Number(n >> 32n));

  // The message with its padding: a bit, zeros, the length in bits, in blocks of so many bytes.
  const padded = (message, block, little) => {
    const room = block / 8;
    const total = Math.ceil((message.length + 1 + room) / block) * block;
    const all = new Uint8Array(total);
    all.set(message);
    all[message.length] = 0x80;
    new DataView(all.buffer).setBigUint64(total - 8, BigInt(message.length) * 8n, little);
    return all;
  };

  const sha256 = (message) => {
    const data = padded(message, 64, false);
    const state = Uint32Array.from(H256);
    const w = new Uint32Array(64);
    const view = new DataView(data.buffer);
    for (let block = 0; block < data.length; block += 64) {
      for (let i = 0; i < 16; i += 1) w[i] = view.getUint32(block + 4 * i);
      for (let i = 16; i < 64; i += 1) {
        const x = w[i - 15];
        const y = w[i - 2];
        const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
        const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
      }
      let [a, b, c, d, e, f, g, h] = state;
      for (let i = 0; i < 64; i += 1) {
        const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
        const t1 = (h + s1 + ((e & f) ^ (~e & g)) + K256[i] + w[i]) | 0;
        const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
        const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
        h = g;
        g = f;
        f = e;
        e = (d + t1) | 0;
        d = c;
        c = b;
        b = a;
        a = (t1 + t2) | 0;
      }
      state[0] += a;
      state[1] += b;
      state[2] += c;
      state[3] += d;
      state[4] += e;
      state[5] += f;
      state[6] += g;
      state[7] += h;
    }
    const out = new Uint8Array(32);
    state.forEach((word, i) => new DataView(out.buffer).setUint32(4 * i, word));
    return out;
  };

  // Only signatures need it, over some hundred bytes each: plain numbers of 64 bits are quick enough.
  const sha512 = (message) => {
    const data = padded(message, 128, false);
    const cut = (n) => BigInt.asUintN(64, n);
    const turn = (n, by) => (n >> by) | cut(n << (64n - by));
    const view = new DataView(data.buffer);
    const state = SQUARES.slice();
    const w = new Array(80);
    for (let block = 0; block < data.length; block += 128) {
      for (let i = 0; i < 16; i += 1) w[i] = view.getBigUint64(block + 8 * i);
      for (let i = 16; i < 80; i += 1) {
        const s0 = turn(w[i - 15], 1n) ^ turn(w[i - 15], 8n) ^ (w[i - 15] >> 7n);
        const s1 = turn(w[i - 2], 19n) ^ turn(w[i - 2], 61n) ^ (w[i - 2] >> 6n);
        w[i] = cut(w[i - 16] + s0 + w[i - 7] + s1);
      }
      let [a, b, c, d, e, f, g, h] = state;
      for (let i = 0; i < 80; i += 1) {
        const s1 = turn(e, 14n) ^ turn(e, 18n) ^ turn(e, 41n);
        const t1 = h + s1 + ((e & f) ^ (cut(~e) & g)) + CUBES[i] + w[i];
        const s0 = turn(a, 28n) ^ turn(a, 34n) ^ turn(a, 39n);
        const t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
        [h, g, f, e, d, c, b, a] = [g, f, e, cut(d + t1), c, b, a, cut(t1 + t2)];
      }
      [a, b, c, d, e, f, g, h].forEach((word, i) => {
        state[i] = cut(state[i] + word);
      });
    }
    const out = new Uint8Array(64);
    state.forEach((word, i) => new DataView(out.buffer).setBigUint64(8 * i, word));
    return out;
  };

  const hmac = (key, text) => {
    const pad = (byte) => Uint8Array.from({length: 64}, (_, i) => (key[i] || 0) ^ byte);
    return sha256(concat(pad(0x5c), sha256(concat(pad(0x36), text))));
  };

  // OpenTimestamps allows three older hashes, too.
  const rotl = (n, by) => (n << by) | (n >>> (32 - by));

  const sha1 = (message) => {
    const data = padded(message, 64, false);
    const view = new DataView(data.buffer);
    const state = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0];
    const w = new Int32Array(80);
    for (let block = 0; block < data.length; block += 64) {
      for (let i = 0; i < 16; i += 1) w[i] = view.getInt32(block + 4 * i);
      for (let i = 16; i < 80; i += 1) w[i] = rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
      let [a, b, c, d, e] = state;
      for (let i = 0; i < 80; i += 1) {
        const [f, k] = i < 20 ? [(b & c) | (~b & d), 0x5a827999]
          : i < 40 ? [b ^ c ^ d, 0x6ed9eba1]
            : i < 60 ? [(b & c) | (b & d) | (c & d), 0x8f1bbcdc]
              : [b ^ c ^ d, 0xca62c1d6];
        [e, d, c, b, a] = [d, c, rotl(b, 30), a, (rotl(a, 5) + f + e + k + w[i]) | 0];
      }
      [a, b, c, d, e].forEach((word, i) => {
        state[i] = (state[i] + word) | 0;
      });
    }
    const out = new Uint8Array(20);
    state.forEach((word, i) => new DataView(out.buffer).setInt32(4 * i, word));
    return out;
  };

  const ripemd160 = (message) => {
    const RHO = [7, 4, 13, 1, 10, 6, 15, 3, 12, 0, 9, 5, 2, 14, 11, 8];
    const SHIFTS = [
      [11, 14, 15, 12, 5, 8, 7, 9, 11, 13, 14, 15, 6, 7, 9, 8],
      [12, 13, 11, 15, 6, 9, 9, 7, 12, 15, 11, 13, 7, 8, 7, 7],
      [13, 15, 14, 11, 7, 7, 6, 8, 13, 14, 13, 12, 5, 5, 6, 9],
      [14, 11, 12, 14, 8, 6, 5, 5, 15, 12, 15, 14, 9, 9, 8, 6],
      [15, 12, 13, 13, 9, 5, 8, 6, 14, 11, 12, 11, 8, 6, 5, 5],
    ];
    const mix = [
      (x, y, z) => x ^ y ^ z,
      (x, y, z) => (x & y) | (~x & z),
      (x, y, z) => (x | ~y) ^ z,
      (x, y, z) => (x & z) | (y & ~z),
      (x, y, z) => x ^ (y | ~z),
    ];
    const LEFT = [0, 0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xa953fd4e];
    const RIGHT = [0x50a28be6, 0x5c4dd124, 0x6d703ef3, 0x7a6d76e9, 0];
    const data = padded(message, 64, true);
    const view = new DataView(data.buffer);
    let state = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0];
    for (let block = 0; block < data.length; block += 64) {
      const half = (first, functions, constants) => {
        let [a, b, c, d, e] = state;
        let order = first;
        for (let round = 0; round < 5; round += 1) {
          order.forEach((word) => {
            const sum = a + functions[round](b, c, d) + view.getInt32(block + 4 * word, true) + constants[round];
            const next = (rotl(sum | 0, SHIFTS[round][word]) + e) | 0;
            [a, e, d, c, b] = [e, d, rotl(c, 10), b, next];
          });
          order = order.map((word) => RHO[word]);
        }
        return [a, b, c, d, e];
      };
      const plain = Array.from({length: 16}, (_, i) => i);
      const l = half(plain, mix, LEFT);
      const r = half(plain.map((i) => (9 * i + 5) % 16), mix.slice().reverse(), RIGHT);
      state = state.map((_, i) => (state[(i + 1) % 5] + l[(i + 2) % 5] + r[(i + 3) % 5]) | 0);
    }
    const out = new Uint8Array(20);
    state.forEach((word, i) => new DataView(out.buffer).setInt32(4 * i, word, true));
    return out;
  };

  const keccak256 = (message) => {
    const cut = (n) => BigInt.asUintN(64, n);
    const turn = (n, by) => (by === 0n ? n : cut(n << by) | (n >> (64n - by)));
    const RATE = 136;
    const data = new Uint8Array((Math.floor(message.length / RATE) + 1) * RATE);
    data.set(message);
    data[message.length] ^= 0x01;
    data[data.length - 1] ^= 0x80;
    const view = new DataView(data.buffer);
    let a = new Array(25).fill(0n);
    for (let block = 0; block < data.length; block += RATE) {
      for (let i = 0; i < RATE / 8; i += 1) a[i] ^= view.getBigUint64(block + 8 * i, true);
      let feedback = 1;
      for (let round = 0; round < 24; round += 1) {
        const c = [0, 1, 2, 3, 4].map((x) => a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20]);
        a = a.map((lane, i) => lane ^ c[(i + 4) % 5] ^ turn(c[(i + 1) % 5], 1n));
        const b = a.slice();
        let [x, y] = [1, 0];
        let lane = a[1];
        for (let t = 0; t < 24; t += 1) {
          [x, y] = [y, (2 * x + 3 * y) % 5];
          const by = BigInt((((t + 1) * (t + 2)) / 2) % 64);
          [lane, b[x + 5 * y]] = [a[x + 5 * y], turn(lane, by)];
        }
        a = b.map((one, i) => {
          const line = i - (i % 5);
          return one ^ (cut(~b[line + ((i + 1) % 5)]) & b[line + ((i + 2) % 5)]);
        });
        for (let j = 0; j <= 6; j += 1) {
          if (feedback & 1) a[0] ^= 1n << BigInt((1 << j) - 1);
          feedback = feedback & 0x80 ? ((feedback << 1) ^ 0x171) & 0xff : feedback << 1;
        }
      }
    }
    const out = new Uint8Array(32);
    for (let i = 0; i < 4; i += 1) new DataView(out.buffer).setBigUint64(8 * i, a[i], true);
    return out;
  };

  // ---- Ed25519: section 6.1, "One predicate" -------------------------------------------------------------------

  const P = (1n << 255n) - 19n;
  const L = (1n << 252n) + 27742317777372353535851937790883648493n;
  const mod = (n) => {
    const rest = n % P;
    return rest < 0n ? rest + P : rest;
  };
  const power = (base, exponent) => {
    let result = 1n;
    for (let b = mod(base), e = exponent; e > 0n; e >>= 1n) {
      if (e & 1n) result = (result * b) % P;
      b = (b * b) % P;
    }
    return result;
  };
  const D = mod(-121665n * power(121666n, P - 2n));
  const HALF_TURN = power(2n, (P - 1n) / 4n); // the square root of -1

  // Points are [X, Y, Z, T]: x = X/Z, y = Y/Z, xy = T/Z.
  const NEUTRAL = [0n, 1n, 1n, 0n];
  const plus = ([x1, y1, z1, t1], [x2, y2, z2, t2]) => {
    const a = ((y1 - x1 + P) * (y2 - x2 + P)) % P;
    const b = ((y1 + x1) * (y2 + x2)) % P;
    const c = (((t1 * t2) % P) * 2n * D) % P;
    const d = (2n * z1 * z2) % P;
    const [e, f, g, h] = [b - a + P, d - c + P, d + c, b + a];
    return [(e * f) % P, (g * h) % P, (f * g) % P, (e * h) % P];
  };
  const little = (bytes) => BigInt('0x' + hex(Uint8Array.from(bytes).reverse()));
  const decode = (bytes) => {
    const all = little(bytes);
    const y = all & ((1n << 255n) - 1n);
    const odd = all >> 255n;
    if (y >= P) return null;
    const u = mod(y * y - 1n);
    const v = mod(D * y * y + 1n);
    const v3 = (v * v * v) % P;
    let x = mod(u * v3 * power(u * v3 * v3 * v, (P - 5n) / 8n));
    if ((v * x * x) % P !== u) x = (x * HALF_TURN) % P;
    if ((v * x * x) % P !== u) return null;
    if (x === 0n && odd === 1n) return null;
    if ((x & 1n) !== odd) x = P - x;
    return [x, y, 1n, (x * y) % P];
  };
  const encode = ([x, y, z]) => {
    const inverse = power(z, P - 2n);
    const n = mod(y * inverse) | ((mod(x * inverse) & 1n) << 255n);
    return unhex(n.toString(16).padStart(64, '0')).reverse();
  };
  const isNeutral = ([x, y, z]) => mod(x) === 0n && mod(y - z) === 0n;
  const isSmall = (point) => {
    let eight = point;
    for (let i = 0; i < 3; i += 1) eight = plus(eight, eight);
    return isNeutral(eight);
  };
  const BASE = decode(unhex('58' + '66'.repeat(31)));

  const verifies = (key, message, signature) => {
    if (key.length !== 32 || signature.length !== 64) return false;
    const r = signature.slice(0, 32);
    const s = little(signature.slice(32));
    const a = decode(key);
    if (s >= L || a === null || isSmall(a)) return false;
    const h = little(sha512(concat(r, key, message))) % L;
    const minus = [P - a[0], a[1], a[2], P - a[3]];
    const table = [null, BASE, minus, plus(BASE, minus)];
    let sum = NEUTRAL;
    for (let bit = 252n; bit >= 0n; bit -= 1n) {
      sum = plus(sum, sum);
      const which = Number((s >> bit) & 1n) + 2 * Number((h >> bit) & 1n);
      if (which) sum = plus(sum, table[which]);
    }
    return !isSmall(sum) && same(encode(sum), r);
  };

  // ---- Characters that nobody sees, or that reorder what others see ----------------------------------------------

  // As the program's src/record/unseen.rs has them: format controls, joiners, fillers, selectors, tags.
  const INVISIBLE = [
    [0xad, 0xad], [0x34f, 0x34f], [0x61c, 0x61c], [0x115f, 0x1160], [0x17b4, 0x17b5], [0x180b, 0x180f], [0x200b, 0x200f], [0x202a, 0x202e],
    [0x2060, 0x206f], [0x3164, 0x3164], [0xfe00, 0xfe0f], [0xfeff, 0xfeff], [0xffa0, 0xffa0], [0xfff0, 0xfffb], [0x13430, 0x1345f],
    [0x1bca0, 0x1bca3], [0x1d173, 0x1d17a], [0xe0000, 0xe0fff],
  ];
  const PICTURES = [
    [0xa9, 0xa9], [0xae, 0xae], [0x203c, 0x203c], [0x2049, 0x2049], [0x2122, 0x2122], [0x2139, 0x2139], [0x2190, 0x21ff], [0x2300, 0x23ff],
    [0x24c2, 0x24c2], [0x25a0, 0x27bf], [0x2900, 0x297f], [0x2b00, 0x2bff], [0x3030, 0x3030], [0x303d, 0x303d], [0x3297, 0x3297],
    [0x3299, 0x3299], [0x1f000, 0x1faff],
  ];
  // Arabic, Syriac, and the scripts of South and Southeast Asia, which cannot be written without joiners.
  const JOINING = [
    [0x620, 0x74f], [0x750, 0x77f], [0x8a0, 0x8ff], [0x900, 0xdf4], [0xf40, 0xfbc], [0x1000, 0x109f], [0x1780, 0x17b3], [0x17b6, 0x17d3],
  ];
  const among = (ranges) => (c) => c !== undefined && ranges.some(([from, to]) => c.codePointAt(0) >= from && c.codePointAt(0) <= to);
  const isInvisible = among(INVISIBLE);
  const isPicture = among(PICTURES);
  const isJoining = among(JOINING);
  const isSelector = (c) => c >= '\ufe00' && c <= '\ufe0f';

  // Whether a joiner or selector does what it is for, between its neighbours.
  const isOfUse = (before, c, after) => {
    if (c === '\ufe0e' || c === '\ufe0f') return isPicture(before) || (/^[0-9#*]$/.test(before) && after === '\u20e3');
    if (after === undefined || before === undefined) return false;
    if (c === '\u200d' && (isPicture(before) || before === '\ufe0f') && isPicture(after)) return true;
    return (c === '\u200d' || c === '\u200c') && isJoining(before) && isJoining(after);
  };

  // The text with everything spelled out that moves, hides or reorders; newline and tab stay.
  const MOST_MARKS = 8;
  // In parts: [text, whether it is spelled out].
  const spelledParts = (text) => {
    if (/^[\n\t\x20-\x7e]*$/.test(text)) return [[text, false]];
    const all = Array.from(text);
    const parts = [];
    let marks = 0;
    all.forEach((c, at) => {
      marks = /\p{M}/u.test(c) && !isSelector(c) ? marks + 1 : 0;
      const stays = c === '\n' || c === '\t'
        || (!/[\p{Cc}\u2028\u2029]/u.test(c) && marks <= MOST_MARKS && (!isInvisible(c) || isOfUse(all[at - 1], c, all[at + 1])));
      const halves = Array.from({length: c.length}, (_, half) => `\\u${c.charCodeAt(half).toString(16).padStart(4, '0')}`);
      const shown = stays ? c : c === '\r' ? '\\r' : halves.join('');
      const last = parts[parts.length - 1];
      if (last && last[1] === !stays) last[0] += shown;
      else parts.push([shown, !stays]);
    });
    return parts;
  };
  const spelled = (text) => spelledParts(text).map(([part]) => part).join('');

  // ---- Reading: sections 1 and 11.1 ------------------------------------------------------------------------------

  // What is no opening file: nothing in it is judged, and `at` says where it stops being one. `but` is what it may be
  // all the same: 'newer' than this page, or 'larger' than anybody reads.
  class NoFile extends Error {
    constructor(at, why, but = null) {
      super(why);
      this.at = at;
      this.but = but;
    }
  }

  const LARGEST = 2n ** 64n - 1n;

  // Ruling 126: the whole file; what stands outside of its strings, quotes among it; the hashes of one proof.
  const MAX_FILE = 32 << 20;
  const MAX_STRUCTURE = 4 << 20;
  const MAX_HASHES = 64;

  // Counted before anything is unfolded: texts have none of it.
  const outsideStrings = (bytes) => {
    let outside = 0;
    let inside = false;
    for (let at = 0; at < bytes.length; at += 1) {
      const byte = bytes[at];
      if (byte === 0x22) inside = !inside;
      else if (inside && byte === 0x5c) at += 1;
      if (!inside || byte === 0x22) outside += 1;
    }
    return outside;
  };

  const small = (bytes) => {
    if (bytes.length > MAX_FILE) throw new NoFile('the file', `it has ${bytes.length} bytes, and ${MAX_FILE} are the most that are read`, 'larger');
    const outside = outsideStrings(bytes);
    if (outside > MAX_STRUCTURE) throw new NoFile('the file', `${outside} of its bytes are no text, and ${MAX_STRUCTURE} are the most that are read`, 'larger');
    return bytes;
  };

  // One value, one spelling: this reads RFC 8785's and nothing else. So a blank, a key out of order or twice, a needless
  // escape, a number of another spelling end the reading at their byte.
  const MOST_LEVELS = 126;
  const readJson = (bytes) => {
    let text;
    try {
      text = new TextDecoder('utf-8', {fatal: true, ignoreBOM: true}).decode(bytes);
    } catch {
      throw new NoFile('its bytes', 'they are not UTF-8');
    }
    let at = 0;
    const stop = (why) => {
      throw new NoFile(`byte ${utf8(text.slice(0, at)).length + 1}`, why);
    };
    const take = (token) => {
      if (!text.startsWith(token, at)) stop(`${JSON.stringify(token)} should stand here`);
      at += token.length;
    };
    const ESCAPES = {'"': '"', '\\': '\\', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t'};
    const string = () => {
      take('"');
      let value = '';
      for (;;) {
        const end = at;
        while (at < text.length && text.charCodeAt(at) >= 0x20 && text[at] !== '"' && text[at] !== '\\') at += 1;
        value += text.slice(end, at);
        if (at >= text.length || text.charCodeAt(at) < 0x20) stop('a text does not end');
        if (text[at] === '"') break;
        const escaped = text[at + 1];
        if (escaped in ESCAPES) {
          value += ESCAPES[escaped];
          at += 2;
          continue;
        }
        const code = /^\\u(00[01][0-9a-f])/.exec(text.slice(at, at + 6));
        const one = code && String.fromCharCode(parseInt(code[1], 16));
        if (!code || /[\b\f\n\r\t]/.test(one)) stop('a character of a text is spelled as no writer spells it');
        value += one;
        at += 6;
      }
      at += 1;
      return value;
    };
    const value = (depth) => {
      if (depth > MOST_LEVELS && (text[at] === '{' || text[at] === '[')) stop('parts within parts, deeper than anybody reads them');
      const first = text[at];
      if (first === '"') return string();
      if (first === '{') {
        const found = new Map();
        let last = null;
        take('{');
        while (text[at] !== '}') {
          if (last !== null) take(',');
          const begin = at;
          const key = string();
          if (last !== null && !(last < key)) {
            at = begin;
            stop(`the key ${JSON.stringify(key)} stands twice, or out of order`);
          }
          take(':');
          found.set(key, value(depth + 1));
          last = key;
        }
        take('}');
        return found;
      }
      if (first === '[') {
        const found = [];
        take('[');
        while (text[at] !== ']') {
          if (found.length) take(',');
          found.push(value(depth + 1));
        }
        take(']');
        return found;
      }
      for (const [word, meaning] of [['true', true], ['false', false], ['null', null]]) {
        if (text.startsWith(word, at)) {
          at += word.length;
          return meaning;
        }
      }
      // The spelling of RFC 8785 is that of this language.
      const [number] = /^[-+.0-9eE]*/.exec(text.slice(at, at + 40));
      if (number === '' || String(Number(number)) !== number) stop('no value that a writer writes');
      at += number.length;
      return Number(number);
    };
    const all = value(0);
    take('\n');
    if (at !== text.length) stop('something stands behind the end');
    return all;
  };

  // The canonical bytes again, of what readJson gave.
  const quoted = (text) => JSON.stringify(text);
  const jcs = (value) => {
    if (value instanceof Map) return `{${Array.from(value, ([key, one]) => `${quoted(key)}:${jcs(one)}`).join(',')}}`;
    if (Array.isArray(value)) return `[${value.map(jcs).join(',')}]`;
    return typeof value === 'string' ? quoted(value) : String(value);
  };

  // The object that this text is the canonical print of, or null.
  const canonicalObject = (text) => {
    try {
      small(utf8(text));
      const value = readJson(utf8(`${text}\n`));
      return value instanceof Map ? value : null;
    } catch (fault) {
      if (fault instanceof NoFile) return null;
      throw fault;
    }
  };

  // Kinds of values. Each is a test; `kind` names it for whoever reads why a file is none.
  const LAST_SECOND = 253402300799; // of the year 9999
  const isText = (value) => typeof value === 'string';
  const isFlag = (value) => typeof value === 'boolean';
  const isCount = (value) => Number.isSafeInteger(value) && value >= 0;
  const isHeight = (value) => isCount(value) && value <= 0xffffffff;
  const isTime = (value) => isCount(value) && value <= LAST_SECOND;
  const isHash = (value) => isText(value) && /^[0-9a-f]{64}$/.test(value);
  const isHeader = (value) => isText(value) && /^[0-9a-f]{160}$/.test(value);
  const isProof = (value) => Array.isArray(value) && value.length <= MAX_HASHES && value.every(isHash);
  const isOrigin = (value) => isText(value) && /^[!-*,-~]{1,100}$/.test(value);
  const isNoteName = (text) => text !== '' && !/[\p{White_Space}\p{Cc}+]/u.test(text) && !Array.from(text).some(isInvisible);
  const isOneOf = (...words) => (value) => words.includes(value);
  const isNull = (value) => value === null;
  const either = (...kinds) => (value) => kinds.some((kind) => kind(value));
  const KEY_START = concat(Uint8Array.of(0, 0, 0, 11), utf8('ssh-ed25519'), Uint8Array.of(0, 0, 0, 32));
  // The 32 bytes of a key that is spelled as in authorized_keys, without a comment.
  const keyBytes = (text) => {
    const blob = text.startsWith('ssh-ed25519 ') ? unbase64(text.slice(12)) : null;
    return blob !== null && blob.length === 51 && same(blob.slice(0, 19), KEY_START) ? blob.slice(19) : null;
  };
  const isKey = (value) => isText(value) && keyBytes(value) !== null;

  const isFormat = isOneOf('gently/1');
  const isNetwork = isOneOf('bitcoin', 'testnet4', 'signet', 'regtest');
  const ROLES = ['prompt', 'response', 'exchange', 'request', 'reply', 'artifact'];
  // Those whose commitment no line carries, but the exchange document of their turn.
  const isNamed = isOneOf('request', 'reply');
  const BLOCK = {
    hash: isHash, height: isHeight, network: isNetwork, source: isOneOf('esplora', 'bitcoind', 'file', 'local'), time: isTime,
  };
  const VALIDATOR = {
    authority_drift: isFlag, completeness_drift: isFlag, evidence_drift: isFlag, schema_ok: isFlag, tone_drift: isFlag,
  };
  const DOCUMENTS = {
    genesis: {
      commitments: isOneOf('hmac-sha256', 'sha256'), created_at: isTime, format: isFormat, genesis: isHash,
      network: isNetwork, origin: isOrigin, signer: isKey,
    },
    session_start: {
      auth_key_hash: isHash, block: BLOCK, branch: isText, format: isFormat, host_role: isText, kernel_hash: isHash,
      model: isText, opened_at: isTime, phase: isText, prev_log: isHash, session_id: isHash, tier: isCount,
    },
    response: {
      asked_at: isTime, authority_state: isOneOf('ok', 'insufficient', 'blocked'), chain_entry: isHash,
      exchange_hash: isHash, format: isFormat, kernel_hash: isHash, model: isText, prev: isHash, prompt_hash: isHash,
      refusal: isFlag, response_hash: isHash, seq: isCount, session_id: isHash, timestamp: isTime, validator: VALIDATOR,
    },
    session_end: {
      block: BLOCK, closed_at: isTime, final_chain_hash: isHash, format: isFormat, interactions: isCount,
      session_close_hash: isHash, session_id: isHash,
    },
    key_rotate: {created_at: isTime, format: isFormat, new_signer: isKey, old_signer: isKey},
  };
  const OPENING = {
    commitment: isHash, format: isFormat, key: either(isHash, isNull), role: isOneOf(...ROLES),
    seq: either(isCount, isNull), session_id: either(isHash, isOneOf('-')), text: isText,
  };
  const STAMP = {checkpoint: isText, header: either(isHeader, isNull), ots: isText};
  const FILE = {
    documents: Array.isArray, format: isFormat, head: isText, headers: Array.isArray, lines: Array.isArray,
    openings: Array.isArray, stamp: (value) => value === null || value instanceof Map,
  };

  // An object with exactly these keys and these kinds of values.
  const shaped = (value, shape, at) => {
    if (!(value instanceof Map)) throw new NoFile(at, 'something else than an object stands here');
    const keys = Object.keys(shape).sort();
    for (const key of value.keys()) if (!keys.includes(key)) throw new NoFile(`${at}: ${key}`, 'there is no such key');
    const found = {};
    for (const key of keys) {
      if (!value.has(key)) throw new NoFile(at, `the key ${key} is missing`);
      const one = value.get(key);
      if (typeof shape[key] === 'object') found[key] = shaped(one, shape[key], `${at}: ${key}`);
      else if (shape[key](one)) found[key] = one;
      else throw new NoFile(`${at}: ${key}`, 'the value is not of the kind that stands here');
    }
    return found;
  };

  const aList = (value, at, each) => {
    if (!Array.isArray(value)) throw new NoFile(at, 'something else than a list stands here');
    return value.map((one, index) => each(one, `${at} ${index + 1}`));
  };

  // A role that is spelled as one and not known here is nobody's change: the file may be of a later format.
  const readOpening = (one, at) => {
    const role = one instanceof Map ? one.get('role') : null;
    if (isText(role) && /^[a-z_]+$/.test(role) && !ROLES.includes(role)) throw new NoFile(`${at}: role`, `this page knows no role ${role}`, 'newer');
    return {at, ...shaped(one, OPENING, at)};
  };

  const readEntry = (entry, at) => {
    if (!Array.isArray(entry) || entry.length < 3 || entry.length > 4) throw new NoFile(at, 'this is no entry of a line');
    const [index, text, proof, more] = entry;
    if (!isCount(index) || !isText(text) || !isProof(proof)) throw new NoFile(at, 'this is no entry of a line');
    const found = {at, index, text, proof, stamped: null, rotation: null};
    if (entry.length === 4) {
      if (isProof(more)) found.stamped = more;
      else if (Array.isArray(more) && more.length === 2 && isText(more[0]) && isProof(more[1])) {
        found.rotation = {checkpoint: more[0], proof: more[1]};
      } else throw new NoFile(at, 'its last member is neither a proof nor the tree head of a rotation');
    }
    return found;
  };

  // Any object is a document of the file; what it says counts only if its line names it by its hash.
  const readDocument = (value, at) => {
    if (!(value instanceof Map)) throw new NoFile(at, 'something else than an object stands here');
    return {at, value, hash: hex(sha256(utf8(jcs(value))))};
  };

  // What a document of this kind says, or null if it is none.
  const ofKind = (kind, {at, value}) => {
    try {
      return {at, ...shaped(value, DOCUMENTS[kind], at)};
    } catch (fault) {
      if (fault instanceof NoFile) return null;
      throw fault;
    }
  };

  const readFile = (bytes) => {
    const all = shaped(readJson(small(bytes)), FILE, 'the file');
    const file = {
      head: all.head,
      openings: aList(all.openings, 'opening', readOpening),
      lines: aList(all.lines, 'line', readEntry),
      documents: aList(all.documents, 'document', readDocument),
      headers: aList(all.headers, 'header', (one, at) => {
        if (!Array.isArray(one) || one.length !== 2 || !isHeight(one[0]) || !isHeader(one[1])) {
          throw new NoFile(at, 'this is no height with a block header');
        }
        return {height: one[0], header: one[1]};
      }),
      stamp: all.stamp && shaped(all.stamp, STAMP, 'stamp'),
    };
    for (const part of ['openings', 'lines', 'documents']) if (file[part].length === 0) throw new NoFile(part, 'there are none');
    for (const one of file.openings) {
      if ((one.seq === null) !== (one.role === 'artifact')) throw new NoFile(one.at, 'its number does not go with its role');
    }
    if (file.stamp) {
      file.stamp.ots = unbase64(file.stamp.ots);
      if (file.stamp.ots === null) throw new NoFile('stamp: ots', 'this is not base64');
    }
    const texts = file.openings.reduce((sum, one) => sum + utf8(quoted(one.text)).length, 0);
    const rotations = file.lines.filter((entry) => entry.text.includes('|key_rotate|')).length;
    if (bytes.length - texts > 65536 + 8192 * (file.openings.length + rotations)) {
      throw new NoFile('the file', 'it is larger than an opening file of so many texts may be');
    }
    return file;
  };

  // ---- Lines of the log: section 4 ---------------------------------------------------------------------------------

  const isNumber = (least = 0n, most = LARGEST) => (text) => /^(0|[1-9][0-9]{0,19})$/.test(text) && BigInt(text) >= least && BigInt(text) <= most;
  const isLogHeight = isNumber(0n, 0xffffffffn);
  const isBranch = (text) => /^branch-[1-7]$/.test(text);
  const isCode = (text) => /^[a-z0-9_.]+$/.test(text);
  const isAnything = (text) => text !== '';
  const isSeq = isNumber(1n);
  const EVENTS = {
    genesis: {record: isHash},
    session_start: {btc: isLogHeight, branch: isBranch, block: isHash, auth: isHash, record: isHash},
    branch_create: {branch: isBranch},
    branch_switch: {from: isBranch, to: isBranch},
    auth_ok: {auth: (text) => /^[0-9a-f]{16}$/.test(text)},
    auth_fail: {reason: isCode, count: isNumber(1n)},
    prompt: {hash: isHash, seq: isSeq},
    response: {hash: isHash, seq: isSeq, model: isAnything, chain: isHash, record: isHash},
    response_fail: {seq: isSeq, model: isAnything, reason: isCode, exchange: isHash},
    denied: {seq: isSeq, reason: isCode, exchange: isHash},
    btc_anchor: {btc: isNumber(1n, 0xffffffffn), block: isHash, header: isHeader},
    drift: {
      class: isOneOf('authority', 'evidence', 'tone', 'schema', 'completeness'), severity: isCode, seq: isSeq, id: isAnything,
    },
    artifact: {kind: isCode, id: isAnything, hash: isHash},
    session_end: {btc: isLogHeight, interactions: isNumber(), block: isHash, close: isHash, record: isHash},
    checkpoint: {record: isHash},
    key_rotate: {record: isHash},
    recover: {applied: isNumber(1n)},
    clock_set: {to: isAnything},
  };
  const OUTSIDE = ['genesis', 'checkpoint', 'key_rotate', 'recover', 'clock_set'];
  const EITHER = ['auth_fail', 'artifact'];

  const readTime = (text) => {
    const parts = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)Z$/.exec(text);
    if (!parts || Number(parts[1]) < 1970) return null;
    const time = Date.UTC(parts[1], parts[2] - 1, parts[3], parts[4], parts[5], parts[6]);
    return new Date(time).toISOString() === `${text.slice(0, -1)}.000Z` ? time / 1000 : null;
  };

  // A value of DETAILS, decoded; null if it is spelled otherwise than a writer spells it.
  const readValue = (text) => {
    if (!/^([\x20-\x24\x26-\x2b\x2d-\x7b\x7d\x7e]|%[0-9A-F]{2})+$/.test(text)) return null;
    const bytes = [];
    for (let at = 0; at < text.length; at += 1) {
      if (text[at] !== '%') {
        bytes.push(text.charCodeAt(at));
        continue;
      }
      const byte = parseInt(text.slice(at + 1, at + 3), 16);
      if (byte >= 0x20 && byte <= 0x7e && !'%|,'.includes(String.fromCharCode(byte))) return null;
      bytes.push(byte);
      at += 2;
    }
    try {
      return new TextDecoder('utf-8', {fatal: true, ignoreBOM: true}).decode(Uint8Array.from(bytes));
    } catch {
      return null;
    }
  };

  const readLine = (text) => {
    if (utf8(text).length > 65535 || /[^\x20-\x7e]/.test(text)) return null;
    const fields = text.split('|');
    if (fields.length !== 6) return null;
    const [hash, height, stamp, event, session, raw] = fields;
    const time = readTime(stamp);
    if (!isHash(hash) || !isLogHeight(height) || time === null || !/^[a-z0-9_]+$/.test(event)) return null;
    if (session !== '-' && !isHash(session)) return null;
    const details = new Map();
    for (const pair of raw === '-' ? [] : raw.split(',')) {
      const [, key, value] = /^([a-z_]+):(.*)$/.exec(pair) || [];
      const decoded = key === undefined ? null : readValue(value);
      if (decoded === null || details.has(key)) return null;
      details.set(key, decoded);
    }
    if (Object.hasOwn(EVENTS, event)) {
      const shape = EVENTS[event];
      if (Array.from(details.keys()).join() !== Object.keys(shape).join()) return null;
      for (const [key, value] of details) if (!shape[key](value)) return null;
      if (OUTSIDE.includes(event) ? session !== '-' : session === '-' && !EITHER.includes(event)) return null;
      if (event === 'clock_set' && details.get('to') !== stamp) return null;
    }
    const {hash: commitment, ...others} = Object.fromEntries(details);
    return {...others, commitment, hash, height: Number(height), time, event, session, rest: text.slice(65)};
  };

  const lineHash = (before, line) => hex(sha256(utf8(`${before}|${line.rest}`)));

  // ---- Tree heads: section 10 --------------------------------------------------------------------------------------

  const MAX_HEAD = 16384;

  // A signed note over a tree: its first signature line is the log's own.
  const readHead = (text, mayBeCosigned) => {
    const parts = /^([^\n]+)\n(0|[1-9][0-9]{0,19})\n([^\n]{44})\n\n((?:\u2014 [^ \n]+ [^ \n]+\n)+)$/.exec(text);
    if (!parts) return null;
    const [, origin, size, rootText, block] = parts;
    const signatures = block.split('\n').slice(0, -1).map((line) => line.split(' ').slice(1));
    const rootHash = unbase64(rootText);
    if (!isOrigin(origin) || BigInt(size) > LARGEST || BigInt(size) < 1n || rootHash === null || rootHash.length !== 32) return null;
    const own = unbase64(signatures[0][1]);
    if (signatures[0][0] !== origin || own === null || own.length !== 68) return null;
    if (signatures.length > (mayBeCosigned ? 64 : 1)) return null;
    for (const line of block.split('\n').slice(1, -1)) {
      const [, name, spelled] = line.split(' ');
      const blob = unbase64(spelled);
      if (utf8(line).length > 8192 || !isNoteName(name) || blob === null || blob.length < 5) return null;
    }
    const ownText = text.slice(0, text.length - block.length - 1);
    if (utf8(ownText).length + 1 + utf8(block.split('\n')[0]).length + 1 > MAX_HEAD) return null;
    return {
      origin, size: BigInt(size), root: hex(rootHash), signed: utf8(ownText), id: own.slice(0, 4), signature: own.slice(4),
      cosignatures: signatures.length - 1,
    };
  };

  const headIsBy = (head, key) => {
    const bytes = keyBytes(key);
    const id = sha256(concat(utf8(`${head.origin}\n`), Uint8Array.of(1), bytes)).slice(0, 4);
    return same(id, head.id) && verifies(bytes, head.signed, head.signature);
  };

  // RFC 6962: whether the path leads from the leaf at this index to the root of a tree of this size.
  const includes = (text, index, size, path, rootHash) => {
    let [n, last] = [BigInt(index), BigInt(size) - 1n];
    if (n > last) return false;
    let node = sha256(concat(Uint8Array.of(0), utf8(text)));
    for (const one of path) {
      if (last === 0n) return false;
      const other = unhex(one);
      if (n & 1n || n === last) {
        node = sha256(concat(Uint8Array.of(1), other, node));
        while (!(n & 1n) && n !== 0n) [n, last] = [n >> 1n, last >> 1n];
      } else {
        node = sha256(concat(Uint8Array.of(1), node, other));
      }
      [n, last] = [n >> 1n, last >> 1n];
    }
    return last === 0n && hex(node) === rootHash;
  };

  // ---- Bitcoin: section 9 ------------------------------------------------------------------------------------------

  const targetOf = (bits) => {
    const exponent = bits >>> 24;
    const digits = BigInt(bits & 0xffffff);
    return exponent >= 3 ? digits << BigInt(8 * (exponent - 3)) : digits >> BigInt(8 * (3 - exponent));
  };
  // The one spelling that a node computes for a target.
  const bitsOf = (target) => {
    let size = Math.ceil(target.toString(16).length / 2);
    let digits = size <= 3 ? target << BigInt(8 * (3 - size)) : target >> BigInt(8 * (size - 3));
    if (digits & 0x800000n) [size, digits] = [size + 1, digits >> 8n];
    return size * 0x1000000 + Number(digits);
  };
  const EASIEST = {bitcoin: 0x1d00ffff, testnet4: 0x1d00ffff, signet: 0x1e0377ae, regtest: 0x207fffff};
  const EPOCH = 2016;

  const readHeader = (text) => {
    const bytes = unhex(text);
    const view = new DataView(bytes.buffer);
    return {
      hash: hex(sha256(sha256(bytes)).reverse()), root: bytes.slice(36, 68), time: view.getUint32(68, true),
      bits: view.getUint32(72, true),
    };
  };

  // The rows of genesis/btc-epochs.csv: [bits, hash of the last block or '-'] by epoch.
  const readEpochs = (csv) => csv.split('\n').filter((row) => /^\d/.test(row)).map((row) => {
    const [, bits, last] = row.trim().split(',');
    return [parseInt(bits, 16), last];
  });

  // Why this header is not accepted at this height, or null.
  const headerFault = (header, height, network, epochs) => {
    const target = targetOf(header.bits);
    if (target === 0n || header.bits & 0x800000 || bitsOf(target) !== header.bits) return 'its difficulty is not spelled as nodes spell it';
    if (target > targetOf(EASIEST[network])) return 'it is easier than its network allows';
    if (BigInt(`0x${header.hash}`) > target) return 'it does not show the work that it claims';
    const epoch = epochs[Math.floor(height / EPOCH)];
    if (network === 'bitcoin' && epoch) {
      if (epoch[0] !== header.bits) return `it does not have the difficulty of height ${height}`;
      if (height % EPOCH === EPOCH - 1 && epoch[1] !== '-' && epoch[1] !== header.hash) return `at height ${height} there is another block`;
    }
    return null;
  };

  const isCheap = (header, network, epochs) => network === 'bitcoin' && targetOf(header.bits) > 16n * targetOf(epochs[epochs.length - 1][0]);

  const belongTogether = (height, time, network) => network !== 'bitcoin'
    || Math.abs(6000 * (height - 830592) - 10 * (time - 1708008110)) <= 12096000 + Math.abs(time - 1708008110);

  // ---- OpenTimestamps ----------------------------------------------------------------------------------------------

  const OTS_MAGIC = concat(unhex('00'), utf8('OpenTimestamps'), unhex('0000'), utf8('Proof'), unhex('00bf89e2e884e89294'));
  const ATTESTATIONS = {'0588960d73d71901': 'bitcoin', '06869a0d73d71b45': 'litecoin', '30fe8087b5c7ead7': 'ethereum', '83dfe30d2ef90c8e': 'pending'};

  // What a proof says of blocks: [height, message] of each Bitcoin attestation. Null if it is no proof of this file.
  const readProof = (bytes, fileHash) => {
    class Stop extends Error {}
    const stop = () => {
      throw new Stop();
    };
    let at = 0;
    const take = (count) => {
      if (at + count > bytes.length) stop();
      at += count;
      return bytes.slice(at - count, at);
    };
    const number = () => {
      let value = 0n;
      for (let digit = 0; digit < 9; digit += 1) {
        const [byte] = take(1);
        value |= BigInt(byte & 0x7f) << BigInt(7 * digit);
        if (!(byte & 0x80)) return value;
      }
      return stop();
    };
    const some = (least, most) => {
      const count = number();
      if (count < BigInt(least) || count > BigInt(most)) stop();
      return take(Number(count));
    };
    const found = [];
    const attestation = (message) => {
      const kind = ATTESTATIONS[hex(take(8))];
      const payload = some(0, 8192);
      const after = at;
      at -= payload.length;
      if (kind === 'bitcoin' || kind === 'litecoin' || kind === 'ethereum') {
        const height = number();
        if (kind === 'bitcoin') found.push([height, message]);
      } else if (kind === 'pending') {
        if (!/^[A-Za-z0-9\-._/:]*$/.test(String.fromCharCode(...some(0, 1000)))) stop();
      } else {
        at = after;
      }
      if (at !== after) stop();
    };
    const HASHES = {2: sha1, 3: ripemd160, 8: sha256, 103: keccak256};
    const apply = (tag, message) => {
      if (HASHES[tag]) return HASHES[tag](message);
      if (tag === 0xf0 || tag === 0xf1) {
        const operand = some(1, 4096);
        return tag === 0xf0 ? concat(message, operand) : concat(operand, message);
      }
      if (tag === 0xf2) return message.slice().reverse();
      if (tag === 0xf3) return utf8(hex(message));
      return stop();
    };
    const follow = (message, depth) => {
      if (depth > 255) stop();
      const step = (tag) => {
        if (tag === 0) return attestation(message);
        const next = apply(tag, message);
        if (next.length < 1 || next.length > 4096) stop();
        return follow(next, depth + 1);
      };
      let [tag] = take(1);
      while (tag === 0xff) {
        step(take(1)[0]);
        [tag] = take(1);
      }
      step(tag);
    };
    try {
      if (bytes.length > 262144 || !same(take(OTS_MAGIC.length), OTS_MAGIC)) return null;
      if (number() !== 1n || take(1)[0] !== 8 || !same(take(32), fileHash)) return null;
      follow(fileHash, 0);
      return at === bytes.length ? found : null;
    } catch (fault) {
      if (fault instanceof Stop) return null;
      throw fault;
    }
  };

  // ---- Judging: sections 11 and 11.1 -------------------------------------------------------------------------------

  const GENESIS = '39d8668c9e1c18834931c26be61912c018fcc8e17d52f36b0a00c7020fe1ab69';
  const ZEROS = '0'.repeat(64);
  const QUESTIONS = ['consistent', 'commitment', 'tree_head', 'signed_by', 'cosigned_by', 'not_before', 'not_after'];
  const OUTCOMES = ['response', 'response_fail', 'denied'];
  const HOURS = 7200;

  const commits = (scheme, opening) => {
    const text = utf8(opening.text);
    if (scheme === 'sha256') return opening.key === null && hex(sha256(text)) === opening.commitment;
    return opening.key !== null && hex(hmac(unhex(opening.key), text)) === opening.commitment;
  };

  // Why a block of a document and the line that names it are not what they should be; [] if they are.
  const blockFaults = (block, line) => {
    const faults = [];
    if (line.block !== block.hash || line.btc !== String(block.height)) faults.push('line and document name different blocks');
    if (line.height !== block.height) faults.push('the line has another height than its own block');
    return faults;
  };

  // The answers for a file that reads. `trust`: `pinned`, the keys that the checker knows, the newest last; `network`,
  // the test network that he named; `epochs`, of readEpochs.
  const judge = (file, trust) => {
    const pinned = trust.pinned || [];
    const findings = [];
    const refuted = new Set();
    const no = (about, at, text) => {
      about.forEach((one) => refuted.add(one));
      if (!findings.some((one) => one.at === at && one.text === text)) findings.push({about, at, text});
    };
    const answers = {};
    const reasons = {};
    const answer = (about, word, reason) => {
      answers[about] = word;
      reasons[about] = reason;
    };

    // The lines, each under the head.
    const head = readHead(file.head, true);
    if (head === null) no(['consistent', 'tree_head'], 'head', 'the signed tree head is not spelled as one');
    const session = file.openings[0].session_id;
    let last = -1;
    for (const entry of file.lines) {
      entry.line = readLine(entry.text);
      if (entry.line === null) no(['consistent'], entry.at, 'the line is not spelled as a writer spells it');
      if (entry.index <= last) no(['consistent'], entry.at, 'the lines are not in their order');
      last = Math.max(last, entry.index);
      if (head && !includes(entry.text, entry.index, head.size, entry.proof, head.root)) {
        no(['consistent'], entry.at, 'line, number and proof do not lead to the signed root');
      }
    }
    const entries = file.lines.filter((entry) => entry.line !== null);
    const all = (event) => entries.filter(({line}) => line.event === event);

    // The documents, in the order of the lines that name them.
    const named = entries.filter(({line}) => Object.hasOwn(DOCUMENTS, line.event));
    named.forEach((entry, n) => {
      const document = file.documents[n];
      if (!document || document.hash !== entry.line.record) {
        no(['consistent'], document ? document.at : entry.at, 'the document is not the one that its line names');
        return;
      }
      const said = ofKind(entry.line.event, document);
      if (said) entry.document = said;
      else no(['consistent'], document.at, 'the document is not spelled as a writer spells it');
    });
    if (file.documents.length > named.length) no(['consistent'], file.documents[named.length].at, 'no line names this document');

    // Line 0.
    const first = entries.find((entry) => entry === file.lines[0] && entry.line.event === 'genesis' && entry.index === 0);
    if (!first) no(['consistent'], 'line 1', 'the record does not begin with its first line');
    const genesis = first && first.document;
    if (first && lineHash(GENESIS, first.line) !== first.line.hash) no(['consistent'], first.at, 'the first line does not have its own hash');
    if (genesis) {
      if (genesis.genesis !== GENESIS) no(['consistent'], genesis.at, 'it is the beginning of another format');
      if (genesis.created_at !== first.line.time) no(['consistent'], genesis.at, 'its time is not its line\'s');
    }
    const network = genesis ? genesis.network : null;
    for (const [n, entry] of file.lines.entries()) {
      const before = file.lines[n - 1];
      if (entry.line && before && before.line && before.index === entry.index - 1 && lineHash(before.line.hash, entry.line) !== entry.line.hash) {
        no(['consistent'], entry.at, 'the line does not continue the one before it');
      }
    }

    // Keys: the one of the genesis, then those of rotations. `keys` are [from which line on, key or null].
    const keys = [[0n, genesis ? genesis.signer : null]];
    const keyAt = (index) => keys.filter(([from]) => from <= index).pop()[1];
    const heads = head ? [['head', head]] : [];
    for (const entry of all('key_rotate')) {
      const old = keys[keys.length - 1][1];
      const rotate = entry.document;
      if (rotate) {
        if (rotate.created_at !== entry.line.time) no(['consistent'], rotate.at, 'its time is not its line\'s');
        if (old !== null && rotate.old_signer !== old) no(['consistent'], rotate.at, 'the key that it ends is not the one in force');
        if (keys.some(([, key]) => key === rotate.new_signer)) no(['consistent'], rotate.at, 'the key that it begins was in force before');
      }
      const own = entry.rotation && readHead(entry.rotation.checkpoint, false);
      if (own) {
        heads.push([entry.at, own]);
        if (!includes(entry.text, entry.index, own.size, entry.rotation.proof, own.root)) {
          no(['consistent'], entry.at, 'the rotation is not under its own tree head');
        }
      }
      const holds = own && genesis && own.origin === genesis.origin && own.size === BigInt(entry.index) + 1n
        && includes(entry.text, entry.index, own.size, entry.rotation.proof, own.root) && old !== null && headIsBy(own, old);
      if (!holds) no(['tree_head'], entry.at, 'the old key did not sign this change of keys');
      keys.push([BigInt(entry.index) + 1n, holds && rotate ? rotate.new_signer : null]);
    }

    // The session.
    const [start] = all('session_start');
    const [end] = all('session_end');
    const inSession = session !== '-';
    const around = [['start', start, 'opened_at'], ['end', end, 'closed_at']].filter(([, entry]) => entry && entry.document);
    if (inSession && !start) no(['consistent'], 'lines', 'the line that starts the session is missing');
    if (start && start.document) {
      const {line, document, at} = start;
      const {block} = document;
      const id = hex(sha256(concat(unhex(document.auth_key_hash), utf8(block.hash), unhex(document.prev_log))));
      if (id !== document.session_id || id !== line.session) no(['consistent'], document.at, 'the session\'s id does not follow from key, block and record');
      if (line.auth !== document.auth_key_hash) no(['consistent'], document.at, 'line and document name different keys');
      if (document.branch !== line.branch || line.branch !== `branch-${(block.height % 7) + 1}`) no(['consistent'], document.at, 'the branch is not that of the block');
      if (lineHash(document.prev_log, line) !== line.hash) no(['consistent'], at, 'the line does not have its own hash');
    }
    if (end && end.document) {
      const {line, document} = end;
      const close = hex(sha256(concat(unhex(document.session_id), utf8(document.block.hash), unhex(document.final_chain_hash))));
      if (document.session_id !== line.session) no(['consistent'], document.at, 'the document is of another session');
      if (close !== document.session_close_hash || close !== line.close) no(['consistent'], document.at, 'the hash of the session\'s end does not follow');
      if (String(document.interactions) !== line.interactions) no(['consistent'], document.at, 'line and document count differently');
      const answered = all('response').filter((entry) => entry.document);
      const final = answered.length ? answered[answered.length - 1].document.chain_entry : ZEROS;
      if (answered.length > document.interactions) no(['consistent'], document.at, 'there are more answers than it counts');
      else if (answered.length === document.interactions && document.final_chain_hash !== final) no(['consistent'], document.at, 'the last answer is another one');
    }
    for (const entry of all('response')) {
      const {line, document} = entry;
      if (!document) continue;
      const chain = hex(sha256(concat(unhex(document.prev), unhex(document.prompt_hash), unhex(document.response_hash), be64(document.timestamp))));
      if (chain !== document.chain_entry || chain !== line.chain) no(['consistent'], document.at, 'its place in the chain of answers does not follow');
      if (document.session_id !== line.session || String(document.seq) !== line.seq || document.model !== line.model
        || document.response_hash !== line.commitment || document.timestamp !== line.time) {
        no(['consistent'], document.at, 'line and document say different things');
      }
    }

    // Which lines there have to be, and which of them carries what is opened.
    const needed = new Set([first, ...all('key_rotate'), ...(inSession ? [start, end] : [])].filter(Boolean));
    const artifacts = all('artifact');
    let artifact = 0;
    let carried = 0;
    const places = [];
    const judge = (opening, carries) => {
      opening.opens = carries !== null && carries === opening.commitment && genesis !== undefined && commits(genesis.commitments, opening);
      if (opening.opens) carried += 1;
      else no(['commitment'], opening.at, 'this text is not the one that was put on record');
    };
    for (const opening of file.openings) {
      const {role, seq, at} = opening;
      if (opening.session_id !== session) no(['consistent'], at, 'it is of another session');
      let carrier;
      let carries = null;
      if (role === 'artifact') {
        carrier = artifacts[artifact];
        artifact += 1;
        if (carrier) carries = carrier.line.commitment;
        if (carrier) needed.add(carrier);
      } else {
        const ofTurn = ({line}) => line.session === opening.session_id && line.seq === String(seq);
        const outcome = OUTCOMES.map((event) => all(event).find(ofTurn)).find(Boolean);
        const prompt = all('prompt').find(ofTurn);
        if (outcome) needed.add(outcome);
        if (outcome && outcome.line.event === 'response') {
          carrier = outcome;
          const record = outcome.document;
          if (role === 'response') carries = outcome.line.commitment;
          else if (record) carries = role === 'prompt' ? record.prompt_hash : record.exchange_hash;
        } else if (role === 'prompt') {
          carrier = prompt;
          if (prompt) needed.add(prompt);
          if (prompt) carries = prompt.line.commitment;
        } else if (role === 'exchange' || isNamed(role)) {
          carrier = outcome;
          if (outcome) carries = outcome.line.exchange;
        }
      }
      opening.carrier = carrier;
      if (!carrier) no(['consistent'], at, 'the line that it is about is missing');
      else {
        places.push([carrier.index, ROLES.indexOf(role), at]);
        if (carrier.line.session !== opening.session_id) no(['consistent'], at, 'its line is of another session');
      }
      if (!isNamed(role)) judge(opening, carries);
    }
    // What was sent, and what came beside the answer: the exchange document of the turn carries these, and it is judged now.
    const exchanges = new Map();
    const turnOf = ({session_id: id, seq}) => `${id} ${seq}`;
    if (file.openings.some(({role}) => isNamed(role))) {
      for (const one of file.openings) {
        if (one.role === 'exchange' && !exchanges.has(turnOf(one))) exchanges.set(turnOf(one), one.opens ? canonicalObject(one.text) : null);
      }
    }
    for (const opening of file.openings) {
      if (isNamed(opening.role)) {
        const document = exchanges.get(turnOf(opening));
        judge(opening, (document && document.get(opening.role)) || null);
      }
    }
    places.forEach(([index, role, at], n) => {
      const [before, roleBefore] = n ? places[n - 1] : [-1, -1];
      if (index < before || (index === before && role <= roleBefore)) no(['consistent'], at, 'it stands twice, or out of order');
    });
    for (const entry of file.lines) {
      if (entry.line && !needed.has(entry)) no(['consistent'], entry.at, 'nothing that is opened needs this line');
      else if (entry.line && entry.line.session !== '-' && entry.line.session !== session) no(['consistent'], entry.at, 'the line is of another session');
    }
    for (const entry of needed) {
      const outside = entry === first || entry.line.event === 'key_rotate' || entry === start || entry === end;
      if (!outside && inSession && ((start && entry.index < start.index) || (end && entry.index > end.index))) {
        no(['consistent'], entry.at, 'the line is not between the session\'s start and end');
      }
    }
    if (start && end && end.index < start.index) no(['consistent'], end.at, 'the session ends before it starts');

    // Blocks of start and end.
    const atHeights = new Map();
    const blocks = {};
    let nth = 0;
    for (const [which, entry, timeKey] of around) {
      const {line, document} = entry;
      if (document[timeKey] !== line.time) no(['consistent'], document.at, 'its time is not its line\'s');
      const {block} = document;
      for (const fault of blockFaults(block, line)) no(['consistent'], document.at, fault);
      if (network !== null && block.network !== network) no(['consistent', 'not_before'], document.at, `the block is of ${block.network}, the record of ${network}`);
      const local = block.source === 'local';
      if (local !== (block.height === 0) || local !== (block.hash === ZEROS)) {
        no(['consistent', 'not_before'], document.at, 'it is half a block, and half the sign that there was none');
        continue;
      }
      if (local) continue;
      const given = file.headers[nth];
      nth += 1;
      if (!given) {
        no(['consistent', 'not_before'], 'headers', 'the header of a block is missing');
        continue;
      }
      const header = readHeader(given.header);
      blocks[which] = {height: given.height, header};
      if (given.height !== block.height) no(['consistent'], `header ${nth}`, 'it is at another height than the block that is named');
      if (header.hash !== block.hash || header.time !== block.time) {
        no(['consistent', 'not_before'], `header ${nth}`, 'it is not the header of the block that is named');
      }
      const fault = network && headerFault(header, block.height, network, trust.epochs);
      if (fault) no(['not_before'], `header ${nth}`, fault);
      if (network && !belongTogether(given.height, header.time, network)) no(['consistent'], `header ${nth}`, 'height and time of the block do not belong together');
      if (line.time < header.time - HOURS) no(['consistent'], entry.at, 'the line is older than the block that it names');
      if (atHeights.has(header.hash) && atHeights.get(header.hash) !== given.height) no(['consistent'], `header ${nth}`, 'one block is named at two heights');
      atHeights.set(header.hash, given.height);
    }
    if (file.headers.length > nth) no(['consistent'], `header ${nth + 1}`, 'no line names the block of this header');

    // The stamp.
    const {stamp} = file;
    const stampNo = (at, text) => no(['consistent', 'not_after'], at, text);
    const stamped = stamp && readHead(stamp.checkpoint, false);
    let seen = null;
    const opened = new Set(file.openings.map((one) => one.carrier).filter(Boolean));
    if (stamp) {
      if (!stamped) stampNo('stamp', 'the stamped tree head is not spelled as one');
      else {
        const key = keyAt(stamped.size - 1n);
        heads.push(['stamp', stamped]);
        if (!genesis || stamped.origin !== genesis.origin) stampNo('stamp', 'the stamped tree head is of another record');
        if (key === null || !headIsBy(stamped, key)) stampNo('stamp', 'the stamped tree head is not signed by the key of its time');
        if (head === null || stamped.size > head.size) stampNo('stamp', 'what was stamped is newer than the head');
        for (const entry of [first, start, ...opened]) {
          if (entry && !(entry.stamped && includes(entry.text, entry.index, stamped.size, entry.stamped, stamped.root))) {
            stampNo(entry.at, 'the line is not under the stamped root');
          }
        }
      }
      const proof = readProof(stamp.ots, sha256(utf8(stamp.checkpoint)));
      if (!proof) no(['not_after'], 'stamp: ots', 'this is no timestamp of the tree head beside it');
      else if (proof.length === 0) no(['not_after'], 'stamp: ots', 'the timestamp names no block of Bitcoin');
      else if (stamp.header !== null) {
        const header = readHeader(stamp.header);
        const height = proof.filter(([, message]) => same(message, header.root)).map(([one]) => one).sort((a, b) => (a < b ? -1 : 1))[0];
        if (height === undefined) no(['not_after'], 'stamp: header', 'the timestamp does not lead to this block');
        else if (height > 0xffffffffn) no(['not_after'], 'stamp: ots', 'there is no block at that height');
        else {
          seen = {height: Number(height), header};
          const fault = network && headerFault(header, seen.height, network, trust.epochs);
          if (fault) no(['not_after'], 'stamp: header', fault);
          if (network && !belongTogether(seen.height, header.time, network)) no(['not_after'], 'stamp: header', 'height and time of the block do not belong together');
          if (atHeights.has(header.hash) && atHeights.get(header.hash) !== seen.height) stampNo('stamp: header', 'one block is named at two heights');
          if (blocks.start && (seen.height < blocks.start.height || header.time < blocks.start.header.time)) {
            no(['not_after'], 'stamp: header', 'the block is older than the one that the session starts on');
          }
          for (const entry of opened) {
            if (entry.line.time > header.time + HOURS) no(['not_after'], entry.at, 'the line is younger than the block that it is said to be in');
          }
        }
      }
    }
    for (const entry of entries) {
      const {line} = entry;
      const mayBeStamped = stamp && (entry === first || entry === start || opened.has(entry) || (OUTCOMES.includes(line.event) && needed.has(entry)));
      if (entry.stamped && !mayBeStamped) no(['consistent'], entry.at, 'nothing asks for its second proof');
      else if (entry.stamped && needed.has(entry) && !opened.has(entry) && entry !== first && entry !== start && stamped
        && !includes(entry.text, entry.index, stamped.size, entry.stamped, stamped.root)) {
        stampNo(entry.at, 'the line is not under the stamped root');
      }
      if (entry.rotation && line.event !== 'key_rotate') no(['consistent'], entry.at, 'it is no change of keys');
    }
    for (const [at, one] of heads) {
      for (const [, other] of heads) {
        if (one.size === other.size && one.root !== other.root) no(at === 'stamp' ? ['consistent', 'not_after'] : ['consistent'], at, 'there are two roots for one number of lines');
      }
    }

    // The head's signature.
    const signer = head ? keyAt(head.size - 1n) : null;
    if (head) {
      if (genesis && head.origin !== genesis.origin) no(['consistent', 'tree_head'], 'head', 'it is the tree head of another record');
      else if (!genesis) no(['tree_head'], 'head', 'what it begins with is missing');
      else if (signer === null) no(['tree_head'], 'head', 'no key of this record leads to it');
      else if (!headIsBy(head, signer)) no(['tree_head'], 'head', 'the signature does not hold under the record\'s key');
    }

    // The answers.
    const why = (about) => findings.filter((one) => one.about.includes(about)).map((one) => `${one.at}: ${one.text}`).join('; ');
    const asked = (about, otherwise) => (refuted.has(about) ? answer(about, 'no', why(about)) : answer(about, ...otherwise()));
    asked('consistent', () => ['yes', `${file.lines.length} lines under one root, and the documents that they name`]);
    asked('commitment', () => ['yes', `${carried} texts are those that were put on record`]);
    asked('tree_head', () => ['yes', `${head.size} lines of ${head.origin}, signed by ${signer}`]);
    if (pinned.length === 0) answer('signed_by', 'not checked', 'nobody said which key it should be');
    else if (answers.tree_head !== 'yes') answer('signed_by', 'no', 'the tree head is not signed by the record\'s key');
    else if (signer === pinned[pinned.length - 1]) answer('signed_by', 'yes', 'the newest key that you gave');
    else if (pinned.includes(signer)) answer('signed_by', 'not checked', 'retired: you know a newer key, and whoever has the old one can sign what he likes');
    else answer('signed_by', 'no', 'this is none of the keys that you gave');
    answer('cosigned_by', 'not checked', 'this page knows no witnesses');
    const counts = network === 'bitcoin' || (network !== null && network === trust.network);
    const times = (about, otherwise) => (counts ? asked(about, otherwise) : answer(about, 'not checked', network ? `${network} is a test network: anybody makes its blocks at home` : 'the record\'s beginning is missing'));
    const ofBlock = ({height, header}, words) => (isCheap(header, network, trust.epochs)
      ? ['not checked', `cheap work: the header of block ${height} costs next to nothing to make`]
      : ['yes', `${words} block ${height}`]);
    times('not_before', () => {
      if (!start) return ['not checked', 'it is in no session, so no block is named before it'];
      if (!blocks.start) return ['not checked', 'the session started without a block'];
      return ofBlock(blocks.start, 'the session started on');
    });
    if (stamp && network === null) answer('not_after', 'no', why('not_after'));
    else times('not_after', () => {
      if (!stamp) return ['not checked', 'the file carries no timestamp'];
      if (!seen) return ['not checked', 'the header of the timestamp\'s block is not in the file'];
      return ofBlock(seen, 'the record was stamped in');
    });

    const opens = ['consistent', 'commitment', 'tree_head'].every((about) => answers[about] === 'yes') && (pinned.length === 0 || answers.signed_by === 'yes');
    return {
      answers, reasons, findings, opens, code: opens ? 0 : 1, signer, network,
      start: blocks.start || null, end: blocks.end || null, seen, genesis, session,
      sessionStart: start || null, sessionEnd: end || null, head, openings: file.openings, entries, cosignatures: head ? head.cosignatures : 0,
    };
  };

  // Everything above in one: what a file says, and whether it holds. `no` is why it is no opening file, else null.
  const check = (bytes, trust) => {
    try {
      return {no: null, ...judge(readFile(bytes), trust)};
    } catch (fault) {
      if (!(fault instanceof NoFile)) throw fault;
      return {no: {at: fault.at, why: fault.message, but: fault.but}, answers: null, reasons: null, findings: [], opens: false, code: 2};
    }
  };

  const fingerprint = (key) => `SHA256:${base64(sha256(concat(KEY_START, keyBytes(key)))).replace(/=+$/, '')}`;

  // ---- In words ----------------------------------------------------------------------------------------------------

  const when = (seconds) => `${new Date(seconds * 1000).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  const TEXTS = {prompt: 'question', response: 'answer to question', exchange: 'document of question', request: 'record of what was sent for question', reply: 'record of what came beside the answer to question'};

  // Where a finding is, for somebody who sees texts and no file.
  const place = (report, at) => {
    const opening = report.openings && report.openings.find((one) => one.at === at);
    if (opening) return opening.role === 'artifact' ? `the text ${at.replace('opening ', '')}` : `the ${TEXTS[opening.role]} ${opening.seq}`;
    const entry = report.entries && report.entries.find((one) => one.at === at);
    if (entry) return `line ${entry.index + 1} of the record (${entry.line.event})`;
    return at.replace(/^(line|document|header) (\d+)/, '$1 $2 of the file');
  };

  // Keys in what somebody pasted: `ssh-ed25519 AAAA…` wherever it stands (a file of them, the newest last), or fingerprints
  // of keys that are in these files. Null if there is something, and no key in it; a fingerprint of none of them stays as it is.
  const keysOf = (pasted, reports) => {
    const found = pasted.match(/ssh-ed25519 [A-Za-z0-9+/=]+|SHA256:[A-Za-z0-9+/]{43}/g) || [];
    if (found.length === 0) return pasted.trim() === '' ? [] : null;
    const known = reports.flatMap((report) => (report.signer ? [report.signer] : []));
    const keys = found.map((one) => (one.startsWith('SHA256:') ? known.find((key) => fingerprint(key) === one) || one : one));
    return keys.every((key) => key.startsWith('SHA256:') || isKey(key)) ? keys : null;
  };

  // The first line. `mark`: 'yes' only if everything that has to hold does, and nothing that was looked at is *no*.
  const verdict = (report, pinned = []) => {
    if (report.no && report.no.but === 'larger') return {mark: 'open', word: 'Not checked', text: `${report.no.at} is larger than any that is read: ${report.no.why}.`};
    if (report.no && report.no.but === 'newer') return {mark: 'open', word: 'Not checked', text: `the file may be newer than this page. ${report.no.at}: ${report.no.why}.`};
    if (report.no) return {mark: 'no', word: 'Changed', text: `this is not a file as gently writes it. ${report.no.at}: ${report.no.why}.`};
    const {answers} = report;
    const said = (about) => report.findings.find((one) => one.about.includes(about));
    if (answers.commitment === 'no') {
      const one = said('commitment');
      const opened = report.openings.some(({at}) => at === one.at);
      return {mark: 'no', word: 'Changed', text: opened ? `${place(report, one.at)} is not the text that was put on record.` : `${place(report, one.at)}: ${one.text}.`};
    }
    for (const [about, word, but] of [
      ['consistent', 'Changed', ''], ['tree_head', 'Not signed', ''],
      ['not_before', 'Wrong about the time', 'text and signature hold, but '], ['not_after', 'Wrong about the time', 'text and signature hold, but '],
    ]) {
      if (answers[about] === 'no') return {mark: 'no', word, text: `${but}${place(report, said(about).at)}: ${said(about).text}.`};
    }
    const by = fingerprint(report.signer);
    if (answers.signed_by === 'no') return {mark: 'no', word: 'Another key', text: `this is signed by ${by}, and not by the key that you gave.`};
    if (pinned.length && answers.signed_by !== 'yes') return {mark: 'open', word: 'Not proven', text: `this is signed by ${by}, an older key than the newest that you gave.`};
    const after = answers.not_before === 'yes' ? when(report.start.header.time) : null;
    const before = answers.not_after === 'yes' ? when(report.seen.header.time) : null;
    const time = after && before ? `between ${after} and ${before}` : after ? `after ${after} (before when, is not proven)`
      : before ? `before ${before} (after when, is not proven)` : 'at a time that is not proven';
    return {mark: 'yes', word: 'Genuine', text: `put on record and signed by ${pinned.length ? 'the key that you gave, ' : ''}${by}, ${time}.`};
  };

  return {
    QUESTIONS, check, fingerprint, keyBytes, readEpochs, utf8, unbase64, base64, hex, unhex, sha256, sha512, sha1, ripemd160,
    keccak256, hmac, verifies, readProof, MAX_FILE, MAX_STRUCTURE, outsideStrings, concat, isKey, spelled, spelledParts, keysOf, place, verdict, when,
  };
})();

// ---- The page ------------------------------------------------------------------------------------------------------

const gentlyPage = (page) => {
  const {check, fingerprint, keysOf, place, readEpochs, spelledParts, unbase64, verdict, when, MAX_FILE} = gentlyOpening;
  const part = (id) => page.getElementById(id);
  const epochs = readEpochs(part('epochs').textContent);
  const MARKS = {yes: '✔', no: '✘', open: '?'};

  // Text is put in as text, never as markup; what would not be seen, or reorder what is, is spelled out and marked.
  const add = (parent, tag, text = '', name = '') => {
    const element = page.createElement(tag);
    if (name) element.className = name;
    for (const [piece, spelledOut] of spelledParts(text)) {
      if (spelledOut) element.appendChild(page.createElement('mark')).textContent = piece;
      else element.appendChild(page.createTextNode(piece));
    }
    return parent.appendChild(element);
  };
  const isBlock = ({height, header}, network) => `block ${height} of ${network === 'bitcoin' ? 'Bitcoin' : network} was found, ${when(header.time)}`;
  const row = (list, name, text, kind) => {
    add(list, 'dt', name);
    return add(list, 'dd', text, kind);
  };

  const showTexts = (parent, report) => {
    let last = null;
    for (const opening of report.openings) {
      const {line} = opening.carrier || {};
      const turn = opening.seq !== null && last === opening.seq ? parent.lastChild : add(parent, 'section', '', 'turn');
      last = opening.seq;
      const at = line ? `${when(line.time)}, the writer's clock` : '';
      const model = line && line.event === 'response' ? line.model : '';
      const says = {
        prompt: `Question ${opening.seq}`, response: `Answer ${opening.seq}${model ? `, ${model}` : ''}`, exchange: `How turn ${opening.seq} came about`,
        request: `What was sent for question ${opening.seq}`, reply: `What came beside answer ${opening.seq}`, artifact: `Kept on record${line ? `: ${line.kind} ${line.id}` : ''}`,
      }[opening.role];
      const folded = ['exchange', 'request', 'reply'].includes(opening.role);
      const box = folded ? add(turn, 'details', '', 'text') : add(turn, 'div', '', `text ${opening.role}`);
      const title = add(box, folded ? 'summary' : 'h3', says);
      if (!folded && !(opening.role === 'prompt' && line && line.event === 'response')) add(title, 'span', at, 'time');
      if (!opening.opens) add(box, 'p', '✘ This is not the text that was put on record.', 'wrong');
      add(box, 'div', opening.text, 'words').dir = 'auto';
      const outcome = report.entries.find((entry) => entry.line.seq === String(opening.seq) && ['response_fail', 'denied'].includes(entry.line.event));
      if (opening.role === 'prompt' && outcome) {
        add(box, 'p', outcome.line.event === 'denied' ? `Not answered: a rule forbade it (${outcome.line.reason}).` : `Not answered: the call gave nothing (${outcome.line.reason}).`, 'time');
      }
    }
  };

  const showClaims = (parent, report, pinned, mark) => {
    const {answers, reasons, network} = report;
    const lists = {yes: [], open: [], no: []};
    const say = (about, yes, open) => {
      if (answers[about] === 'yes') lists.yes.push(yes());
      else if (answers[about] === 'not checked') lists.open.push(open);
    };
    // Where parts contradict each other, none of them shows anything.
    if (answers.consistent === 'yes') {
      say('commitment', () => 'These are, character for character, the texts that were put on record.');
      say('tree_head', () => `The record (${report.head.origin}, ${report.head.size} lines then) is signed by the key ${fingerprint(report.signer)}. Whoever holds it cannot take this back.`);
      say('not_before', () => `Nothing of this was on record before ${isBlock(report.start, network)}: the record names its hash, which nobody knew earlier. (That it is number ${report.start.height} is the file's word.)`, `After when it was recorded: ${reasons.not_before}.`);
      say('not_after', () => `It was on record when ${isBlock(report.seen, network)}: a timestamp leads into that block. (That it is number ${report.seen.height} is the file's word, and blocks' times are right to two hours.)`, `Before when it was recorded: ${reasons.not_after}.`);
    }
    if (pinned.length) say('signed_by', () => 'That is the newest of the keys that you gave.', `By whom: ${reasons.signed_by}.`);
    else lists.open.push('Whose key it is: nobody can tell from this file. Compare the fingerprint below with one that you got from its owner another way, or paste it.');
    lists.open.push(`That there is no second record that says otherwise: ${report.cosignatures ? `the file has ${report.cosignatures} signatures of witnesses, which this page does not check` : 'no witness signed'}.`);
    lists.open.push('That the model that is named gave the answer, and that the writer\'s clock was right: both are the writer\'s word.');
    lists.open.push('That nothing else was asked, and that an answer is true.');
    for (const one of report.findings) lists.no.push(`${place(report, one.at)}: ${one.text}.`);
    for (const [kind, title] of [['no', 'What does not hold'], ['yes', mark === 'no' ? 'What still holds' : 'What is proven'], ['open', 'What is not proven']]) {
      if (lists[kind].length === 0) continue;
      add(parent, 'h2', title);
      const list = add(parent, 'ul', '', kind);
      lists[kind].slice(0, 20).forEach((one) => add(list, 'li', one[0].toUpperCase() + one.slice(1)));
      if (lists[kind].length > 20) add(list, 'li', `And ${lists[kind].length - 20} more.`);
    }
  };

  const showDetails = (parent, report, file) => {
    const box = add(parent, 'details');
    add(box, 'summary', 'Every answer, and the hashes');
    const list = add(box, 'dl');
    for (const about of Object.keys(report.answers)) {
      row(list, about.replace('_', ' '), `${report.answers[about]}: ${report.reasons[about]}`, 'hash').dataset.answer = about;
    }
    row(list, 'session', report.session, 'hash');
    if (report.head) row(list, 'root of the record', `${report.head.root}, ${report.head.size} lines`, 'hash');
    for (const [name, one] of [['block of the start', report.start], ['block of the end', report.end], ['block of the timestamp', report.seen]]) {
      if (one) row(list, name, `${one.height}, ${one.header.hash}, ${when(one.header.time)}`, 'hash');
    }
    for (const one of report.openings) row(list, `commitment of ${one.role}${one.seq === null ? '' : ` ${one.seq}`}`, one.commitment, 'hash');
    const save = add(add(parent, 'p', '', 'save'), 'a', 'Save the file that is in this page');
    save.download = 'opening.json';
    save.href = `data:application/json;base64,${file}`;
    if (report.signer) {
      add(parent, 'h2', 'The key');
      const key = add(parent, 'dl');
      row(key, 'as ssh-keygen -l prints it', `256 ${fingerprint(report.signer)} (ED25519)`, 'hash');
      row(key, 'as gently prints it', report.signer, 'hash');
    }
  };

  // Base64 of the largest file; what is longer is not unfolded to be refused.
  const MOST_DIGITS = 4 * Math.ceil((MAX_FILE + 1) / 3);

  // The files: as they stand in the page, or as somebody chose them instead; null for one that is too large to be read.
  let files = (part('opening').textContent.match(/\S+/g) || []);

  const show = () => {
    const begun = Date.now();
    const body = part('body');
    const line = part('verdict');
    const tell = ({mark, word, text}) => {
      line.className = mark;
      line.textContent = '';
      add(line, 'b', `${MARKS[mark]} ${word}: `);
      add(line, 'span', text);
      if (mark === 'yes') add(line, 'small', `Not checked here: ${part('key').value.trim() && part('nokey').hidden ? '' : 'whose key that is; '}witnesses${reports.some(({start, seen}) => start || seen) ? '; whether blocks have the heights that the file names' : ''}.`);
      page.title = `${MARKS[mark]} ${word}`;
    };
    body.textContent = '';
    if (files.length === 0) return tell({mark: 'open', word: 'Nothing to check', text: 'this page holds no file. Choose one below.'});
    const judge = (pinned) => files.map((file) => {
      if (file === null || file.length > MOST_DIGITS) return {no: {at: 'the file', why: `more than ${MAX_FILE} bytes are not read`, but: 'larger'}, answers: null, findings: []};
      const bytes = unbase64(file);
      if (bytes === null) return {no: {at: 'the page', why: 'what it holds is not base64'}, answers: null, findings: []};
      return check(bytes, {epochs, pinned});
    });
    const pasted = part('key').value;
    const pinned = keysOf(pasted, pasted.trim() ? judge([]) : []);
    const reports = judge(pinned || []);
    const verdicts = reports.map((report) => verdict(report, pinned || []));
    part('nokey').hidden = pinned !== null;
    tell(verdicts.find(({mark}) => mark === 'no') || verdicts.find(({mark}) => mark === 'open') || verdicts[0]);
    reports.forEach((report, n) => {
      if (report.answers === null) return;
      const holds = verdicts[n].mark !== 'no';
      const texts = add(body, 'div', '', holds ? 'texts' : 'texts doubtful');
      if (!holds) add(texts, 'p', 'The file shows this, and it is not to be relied on:', 'wrong');
      showTexts(texts, report);
      showClaims(body, report, pinned || [], verdicts[n].mark);
      showDetails(body, report, files[n]);
    });
    part('took').textContent = String(Date.now() - begun);
    return undefined;
  };

  const safely = () => {
    try {
      show();
    } catch (fault) {
      part('body').textContent = '';
      part('verdict').className = 'open';
      part('verdict').textContent = `? Not checked: the script of this page failed in this browser (${fault}). Check the file with gently or verify.py.`;
      page.title = '? Not checked';
    }
  };
  part('key').addEventListener('input', safely);
  part('other').addEventListener('change', (event) => {
    const reader = new FileReader();
    reader.addEventListener('load', () => {
      const bytes = new Uint8Array(reader.result);
      // A page of this kind is taken for the files that it holds.
      const held = bytes[0] === 0x3c && /<script type="text\/plain" id="opening">([^<]*)<\/script>/.exec(new TextDecoder().decode(bytes));
      files = held ? held[1].match(/\S+/g) || [] : [gentlyOpening.base64(bytes)];
      safely();
    });
    const [chosen] = event.target.files;
    if (!chosen) return;
    if (chosen.size <= MOST_DIGITS + 1048576) reader.readAsArrayBuffer(chosen);
    else {
      files = [null];
      safely();
    }
  });
  part('tools').hidden = false;
  safely();
};

if (typeof module === 'object') module.exports = gentlyOpening;
else gentlyPage(document);
