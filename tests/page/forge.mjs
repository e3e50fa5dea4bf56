// Ledgers of somebody who can write whatever he likes, and opening files of them. What a writer would refuse is made
// here, so that it can be seen that every reader does.
import crypto from 'node:crypto';
import fs from 'node:fs';
import {jcs, printed} from './cases.mjs';

const GENESIS = '39d8668c9e1c18834931c26be61912c018fcc8e17d52f36b0a00c7020fe1ab69';
const ZEROS = '0'.repeat(64);
export const NOW = 1_708_008_110; // 2024-02-15: the known block of the rule of height and time
const DAY = 86_400;

const H = (...parts) => {
  const hash = crypto.createHash('sha256');
  parts.forEach((part) => hash.update(part));
  return hash.digest();
};
const raw = (text) => Buffer.from(text, 'hex');
const be64 = (n) => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(n));
  return bytes;
};
const stampOf = (seconds) => `${new Date(seconds * 1000).toISOString().slice(0, 19)}Z`;
const hmac = (key, ...parts) => {
  const mac = crypto.createHmac('sha256', key);
  parts.forEach((part) => mac.update(part));
  return mac.digest();
};

const keyOf = (seed) => {
  const secret = crypto.createPrivateKey({key: Buffer.concat([raw('302e020100300506032b657004220420'), Buffer.alloc(32, seed)]), format: 'der', type: 'pkcs8'});
  const bytes = crypto.createPublicKey(secret).export({format: 'der', type: 'spki'}).subarray(-32);
  const blob = Buffer.concat([raw('0000000b'), Buffer.from('ssh-ed25519'), raw('00000020'), bytes]);
  return {secret, bytes, text: `ssh-ed25519 ${blob.toString('base64')}`};
};

// RFC 6962, as it is written down there.
const leaf = (text) => H(Buffer.of(0), text);
const split = (n) => 2 ** Math.floor(Math.log2(n - 1));
const rootOf = (lines) => (lines.length === 0 ? H('') : lines.length === 1 ? leaf(lines[0])
  : H(Buffer.of(1), rootOf(lines.slice(0, split(lines.length))), rootOf(lines.slice(split(lines.length)))));
const proofOf = (index, lines) => {
  if (lines.length <= 1) return [];
  const k = split(lines.length);
  return index < k ? [...proofOf(index, lines.slice(0, k)), rootOf(lines.slice(k)).toString('hex')]
    : [...proofOf(index - k, lines.slice(k)), rootOf(lines.slice(0, k)).toString('hex')];
};

const noteBy = (key, origin, size, root) => {
  const body = `${origin}\n${size}\n${root.toString('base64')}\n`;
  const id = H(`${origin}\n`, Buffer.of(1), key.bytes).subarray(0, 4);
  const signature = crypto.sign(null, Buffer.from(body), key.secret);
  return `${body}\n\u2014 ${origin} ${Buffer.concat([id, signature]).toString('base64')}\n`;
};

// A header of regtest with this Merkle root, found in two tries or so.
export const mined = (root, time, bits = 0x207fffff, previous = Buffer.alloc(32, 9)) => {
  for (let nonce = 0; ; nonce += 1) {
    const numbers = Buffer.alloc(12);
    numbers.writeUInt32LE(time, 0);
    numbers.writeUInt32LE(bits, 4);
    numbers.writeUInt32LE(nonce, 8);
    const header = Buffer.concat([raw('00000020'), previous, root, numbers]);
    if (H(H(header))[31] < 0x7f) return header.toString('hex');
  }
};
const blockHash = (header) => H(H(raw(header))).reverse().toString('hex');
const headerTime = (header) => raw(header).readUInt32LE(68);

const varint = (n) => {
  const bytes = [];
  let rest = BigInt(n);
  do {
    bytes.push(Number(rest & 127n) | (rest > 127n ? 128 : 0));
    rest >>= 7n;
  } while (rest > 0n);
  return Buffer.from(bytes);
};
const counted = (bytes) => Buffer.concat([varint(bytes.length), bytes]);
const OTS = Buffer.concat([raw('00'), Buffer.from('OpenTimestamps'), raw('0000'), Buffer.from('Proof'), raw('00bf89e2e884e89294'), raw('0108')]);
const ATTESTED = {bitcoin: '0588960d73d71901', litecoin: '06869a0d73d71b45', pending: '83dfe30d2ef90c8e', ethereum: '30fe8087b5c7ead7', unknown: 'aaaaaaaaaaaaaaaa'};
const attested = (kind, payload) => Buffer.concat([raw('00'), raw(ATTESTED[kind]), counted(payload)]);
const inBlock = (height) => attested('bitcoin', varint(height));
const HASHES = {'02': 'sha1', '03': 'ripemd160', '08': 'sha256'};

// A proof over these bytes by such steps ('08', 'f0…', 'f1…', 'f2', 'f3'), and the message at its end.
const otsOf = (bytes, steps, end) => {
  let message = H(bytes);
  const parts = [OTS, message];
  for (const step of steps) {
    const [tag, operand] = [step.slice(0, 2), raw(step.slice(2))];
    parts.push(raw(tag), ...(operand.length ? [counted(operand)] : []));
    if (HASHES[tag]) message = crypto.createHash(HASHES[tag]).update(message).digest();
    else if (tag === 'f0') message = Buffer.concat([message, operand]);
    else if (tag === 'f1') message = Buffer.concat([operand, message]);
    else if (tag === 'f2') message = Buffer.from(message).reverse();
    else if (tag === 'f3') message = Buffer.from(message.toString('hex'));
  }
  return [Buffer.concat([...parts, end]), message];
};
const STEPS = [`f0${'07'.repeat(32)}`, '08', 'f1696e2066726f6e74', '08'];

export class Forge {
  constructor({network = 'regtest', scheme = 'hmac-sha256', time = NOW, change = (one) => one, spelled = (text) => text} = {}) {
    Object.assign(this, {network, scheme, change, spelled, origin: 'gently/forge', keys: [[0, keyOf(0x11)]], log: [], docs: [], headers: [], turns: {}, height: 0, top: 0});
    this.line('genesis', '-', time, {}, {
      commitments: scheme, created_at: time, format: 'gently/1', genesis: GENESIS, network, origin: this.origin, signer: this.keys[0][1].text,
    });
  }

  // A line, and its document; `change` may change both before they are hashed.
  line(event, session, time, details, document) {
    const asked = {event, session, time, height: session === '-' ? this.top : this.height, details, document, log: this.log};
    const made = this.change(asked) || asked;
    if (made.document) made.details.record = H(jcs(made.document)).toString('hex');
    const pairs = Object.entries(made.details).map(([key, value]) => `${key}:${value}`).join(',') || '-';
    const rest = `${made.height}|${stampOf(made.time)}|${made.event}|${made.session}|${pairs}`;
    const before = this.log.length ? this.log[this.log.length - 1].slice(0, 64) : GENESIS;
    this.docs[this.log.length] = made.document;
    this.log.push(made.line || `${H(`${before}|${rest}`).toString('hex')}|${rest}`);
    this.top = Math.max(this.top, made.height);
    return this.log[this.log.length - 1].slice(0, 64);
  }

  block(anchor, time) {
    return anchor ? {hash: blockHash(anchor[0]), height: anchor[1], network: this.network, source: 'file', time: headerTime(anchor[0])}
      : {hash: ZEROS, height: 0, network: this.network, source: 'local', time};
  }

  start(anchor, time) {
    const block = this.block(anchor, time);
    const before = this.log[this.log.length - 1].slice(0, 64);
    const auth = H('auth').toString('hex');
    this.session = H(raw(auth), block.hash, raw(before)).toString('hex');
    Object.assign(this, {chain: this.session, height: block.height, seq: 0, answers: 0, begun: this.log.length, ended: null, artifacts: []});
    const branch = `branch-${(block.height % 7) + 1}`;
    if (anchor) this.headers[this.log.length] = [block.height, anchor[0]];
    this.line('session_start', this.session, time, {btc: block.height, branch, block: block.hash, auth}, {
      auth_key_hash: auth, block, branch, format: 'gently/1', host_role: 'test', kernel_hash: ZEROS, model: 'honest-1b', opened_at: time, phase: 'active',
      prev_log: before, session_id: this.session, tier: 1,
    });
    return this;
  }

  salted(role, seq, text) {
    if (this.scheme === 'sha256') return [null, H(text).toString('hex')];
    const key = hmac(H(`salt ${this.session} ${seq}`), `gently/1/${role}`);
    return [key.toString('hex'), hmac(key, text).toString('hex')];
  }

  // A turn; without an answer `outcome` is response_fail, denied or null.
  turn(prompt, response, time, outcome = 'response_fail') {
    this.ask(prompt, time - 1);
    return this.settle(this.seq, response, time, outcome);
  }

  ask(prompt, time) {
    this.seq += 1;
    const {seq} = this;
    // The exchange document names what was sent and what came beside the answer; `spelled` may change its text.
    const [request, reply] = ['sent', 'beside'].map((what) => jcs({seq, what}));
    const [, named] = this.salted('request', seq, request);
    const exchange = this.spelled(jcs({model: 'honest-1b', outcome: 'x', reply: this.salted('reply', seq, reply)[1], request: named, seq}));
    this.turns[seq] = {session: this.session, texts: {prompt, exchange, request, reply}};
    this.turns[seq].asked = this.log.length;
    this.line('prompt', this.session, time, {hash: this.salted('prompt', seq, prompt)[1], seq});
    return this;
  }

  settle(seq, response, time, outcome = 'response_fail') {
    const turn = this.turns[seq];
    const exchange = this.salted('exchange', seq, turn.texts.exchange)[1];
    turn.outcome = this.log.length;
    if (response === null) {
      if (outcome === 'denied') this.line('denied', this.session, time, {seq, reason: 'policy', exchange});
      else if (outcome) this.line('response_fail', this.session, time, {seq, model: 'honest-1b', reason: 'gone', exchange});
      else turn.outcome = null;
      return this;
    }
    turn.texts.response = response;
    const [prompt, hash] = [this.salted('prompt', seq, turn.texts.prompt)[1], this.salted('response', seq, response)[1]];
    const prev = this.chain;
    this.chain = H(raw(prev), raw(prompt), raw(hash), be64(time)).toString('hex');
    this.answers += 1;
    const flag = false;
    this.line('response', this.session, time, {hash, seq, model: 'honest-1b', chain: this.chain}, {
      asked_at: time - 1, authority_state: 'ok', chain_entry: this.chain, exchange_hash: exchange, format: 'gently/1', kernel_hash: ZEROS, model: 'honest-1b',
      prev, prompt_hash: prompt, refusal: flag, response_hash: hash, seq, session_id: this.session, timestamp: time,
      validator: {authority_drift: flag, completeness_drift: flag, evidence_drift: flag, schema_ok: true, tone_drift: flag},
    });
    return this;
  }

  note(text, time, session = this.session || '-') {
    const made = {at: this.log.length, text: jcs({text}), session};
    this.notes = [...(this.notes || []), made];
    made.salted = this.salted('artifact', `note ${this.notes.length}`, made.text);
    this.line('artifact', session, time, {kind: 'note', id: `note:${this.notes.length}`, hash: made.salted[1]});
    return this;
  }

  end(anchor, time) {
    const block = this.block(anchor, time);
    const final = this.answers ? this.chain : ZEROS;
    const close = H(raw(this.session), block.hash, raw(final)).toString('hex');
    if (anchor) this.headers[this.log.length] = [block.height, anchor[0]];
    this.ended = this.log.length;
    this.height = block.height;
    this.line('session_end', this.session, time, {btc: block.height, interactions: this.answers, block: block.hash, close}, {
      block, closed_at: time, final_chain_hash: final, format: 'gently/1', interactions: this.answers, session_close_hash: close, session_id: this.session,
    });
    return this;
  }

  rotate(seed, time) {
    const key = keyOf(seed);
    const old = this.keys[this.keys.length - 1][1];
    this.line('key_rotate', '-', time, {}, {created_at: time, format: 'gently/1', new_signer: key.text, old_signer: old.text});
    this.keys.push([this.log.length, key]);
    return this;
  }

  other(time) {
    this.line('recover', '-', time, {applied: 1});
    return this;
  }

  keyAt(size) {
    return this.keys.filter(([from]) => from <= size - 1).pop()[1];
  }

  head(size = this.log.length, key = this.keyAt(size)) {
    return noteBy(key, this.origin, size, rootOf(this.log.slice(0, size)));
  }

  proof(index, size = this.log.length) {
    return proofOf(index, this.log.slice(0, size));
  }

  // The opening file of these texts: [seq, role], or ['artifact', n].
  file(openings, size = this.log.length) {
    const made = openings.map(([seq, role]) => {
      if (seq === 'artifact') {
        const {at, text, session, salted} = this.notes[role];
        return {lines: [at], session, opening: {commitment: salted[1], format: 'gently/1', key: salted[0], role: 'artifact', seq: null, session_id: session, text}};
      }
      const turn = this.turns[seq];
      const answered = turn.texts.response !== undefined;
      const text = turn.texts[role];
      const [key, commitment] = this.salted(role, seq, text);
      const lines = answered ? [turn.outcome] : [...(role === 'prompt' ? [turn.asked] : []), ...(turn.outcome !== null ? [turn.outcome] : [])];
      return {lines, session: turn.session, opening: {commitment, format: 'gently/1', key, role, seq, session_id: turn.session, text}};
    });
    const wanted = new Set([0, ...made.flatMap((one) => one.lines)]);
    if (made[0].session !== '-') wanted.add(this.begun);
    if (made[0].session !== '-' && this.ended !== null) wanted.add(this.ended);
    this.log.forEach((text, index) => text.split('|')[3] === 'key_rotate' && wanted.add(index));
    const indices = [...wanted].filter((index) => index < size).sort((a, b) => a - b);
    const lines = indices.map((index) => {
      const entry = [index, this.log[index], this.proof(index, size)];
      if (this.log[index].split('|')[3] === 'key_rotate') entry.push([this.head(index + 1), this.proof(index, index + 1)]);
      return entry;
    });
    return {
      documents: indices.map((index) => this.docs[index]).filter(Boolean), format: 'gently/1', head: this.head(size),
      headers: indices.map((index) => this.headers[index]).filter(Boolean), lines, openings: made.map((one) => one.opening), stamp: null,
    };
  }

  // The same with a stamp over the first `size` lines, in a block of this height and time.
  stamped(file, size, [height, time], {steps = STEPS, end = inBlock(height), checkpoint = this.head(size), header, bits} = {}) {
    const [ots, root] = otsOf(checkpoint, steps, end);
    const made = header === undefined ? mined(root.subarray(0, 32), time, bits) : header;
    const lines = file.lines.map((entry) => {
      const event = entry[1].split('|')[3];
      return ['key_rotate', 'session_end'].includes(event) || entry[0] >= size ? entry : [...entry.slice(0, 3), this.proof(entry[0], size)];
    });
    return {...file, lines, stamp: {checkpoint, header: made, ots: ots.toString('base64')}};
  }
}

const ground = (root, time, bits) => mined(Buffer.alloc(32, root), time, bits);

// A test ledger with turns between two blocks of regtest, and lines behind it.
const usual = (options = {}) => {
  const forge = new Forge(options);
  const time = options.time || NOW;
  forge.note('outside', time, '-');
  forge.start([ground(1, time - 600), 100], time + 10);
  forge.turn('What is 2+2?', '4', time + 20).turn('And 3+3?', '6', time + 30).turn('And 4+4?', null, time + 35).turn('Forbidden', null, time + 36, 'denied');
  forge.note('inside', time + 37);
  forge.ask('First of two', time + 37).ask('Second of two', time + 37).settle(6, null, time + 38).settle(5, 'Late answer', time + 38);
  forge.end([ground(2, time + 30), 101], time + 40).other(time + 50).other(time + 60);
  return forge;
};
const rotated = (options) => usual(options).rotate(0x22, NOW + 100).other(NOW + 2 * 365 * DAY);

const REAL = '010000006fe28c0ab6f1b372c1a6a246ae63f74f931e8365e15a089c68d6190000000000982051fd1e4ba744bbbe680e1fee14677ba1a3c3540bf7b1cdb606e857233e0e61bc6649ffff001d01e36299';

// Opening files: those that are changed further, and (`alone`) those that are the change themselves.
export const forged = () => {
  const found = [];
  const add = (name, file, {forge, signers, network = 'regtest', alone = true} = {}) => {
    const keys = signers || (forge ? forge.keys.map(([, key]) => key.text) : []);
    found.push({name: `forged: ${name}`, bytes: printed(file), signers: keys, network, alone});
  };
  const whole = [[1, 'prompt'], [1, 'response'], [1, 'exchange'], [1, 'request'], [1, 'reply'], [2, 'response'], [3, 'prompt'], [3, 'exchange'], [3, 'request'], [4, 'prompt'], [4, 'exchange']];
  const forge = rotated();
  const stampAt = forge.ended + 2;
  const later = [102, NOW + 3000];
  const some = forge.file([[1, 'prompt'], [1, 'exchange'], [1, 'request'], [3, 'prompt'], [3, 'exchange']]);

  // Bases.
  add('stamped, with a rotation', forge.stamped(some, stampAt, later), {forge, alone: false});
  const plain = usual({scheme: 'sha256'});
  add('scheme sha256', plain.stamped(plain.file([[2, 'response']]), plain.ended + 1, later), {forge: plain, alone: false});
  add('artifact outside', forge.file([['artifact', 0]]), {forge, alone: false});

  // Which openings, in which order.
  const choices = [whole, [[3, 'prompt']], [[3, 'exchange']], [[4, 'prompt']], [['artifact', 1]], [[5, 'prompt'], [5, 'response']], [[6, 'prompt']],
    [[6, 'prompt'], [6, 'exchange'], [5, 'response']], [[6, 'exchange'], [6, 'prompt']], [[5, 'response'], [6, 'prompt'], [6, 'exchange']],
    [[6, 'prompt'], [5, 'prompt'], [6, 'exchange']], [[5, 'prompt'], [6, 'prompt'], [5, 'response'], [6, 'exchange']], [[2, 'response'], [1, 'response']],
    [[1, 'response'], [1, 'prompt']], [[1, 'exchange'], [1, 'response']], [[1, 'response'], [1, 'response']], [[1, 'response'], ['artifact', 1]], [['artifact', 1], [1, 'response']],
    [['artifact', 0], ['artifact', 1]], [['artifact', 1], ['artifact', 1]], [['artifact', 0], [1, 'prompt']], [[5, 'prompt'], [6, 'prompt']], [[6, 'prompt'], [5, 'prompt']], [[6, 'exchange'], [5, 'prompt']]];
  const [document, sent, aside] = [[1, 'exchange'], [1, 'request'], [1, 'reply']];
  choices.push([document, sent, aside], [document, aside], [sent], [[1, 'prompt'], aside], [sent, document], [document, aside, sent], [document, sent, sent],
    [document, document, sent], [document, [2, 'request']], [sent, [2, 'exchange']], [[3, 'exchange'], [3, 'request'], [3, 'reply']], [[3, 'request']], [[6, 'request'], [5, 'reply']]);
  choices.forEach((choice) => {
    const words = choice.map((one) => one.join(' ')).join(', ');
    const file = forge.file(choice);
    add(words, file, {forge});
    add(`${words}, unpinned`, file);
    add(`${words}, stamped`, forge.stamped(file, stampAt, later), {forge});
  });
  // Openings that claim another role or number than their text.
  for (const [role, seq] of [['response', 1], ['exchange', 1], ['prompt', 2], ['prompt', 3], ['prompt', 9], ['response', 3], ['exchange', 9], ['prompt', 0]]) {
    const file = forge.file([[1, 'prompt']]);
    add(`prompt 1 as ${role} ${seq}`, {...file, openings: [{...file.openings[0], role, seq}]}, {forge});
  }
  // Exchange documents that do not name what was sent, or in another spelling than the one that there is.
  const spellings = {
    'without the members': (text) => text.replace('"reply"', '"beside"').replace('"request"', '"sent"'), 'a blank': (text) => text.replace('":', '": '),
    'an end of line': (text) => `${text}\n`, 'nothing': () => '', 'a list': (text) => `[${text}]`, 'a key twice': (text) => text.replace('"seq":', '"seq":0,"seq":'),
    'out of order': (text) => text.replace('"seq":', '"b":0,"seq":'), 'an escape': (text) => text.replace('"reply"', '"\\u0072eply"'), 'a half': (text) => text.replace('"x"', '"\\ud800"'),
    '1.0': (text) => text.replace(/"seq":(\d)/, '"seq":$1.0'), 'lists': (text) => text.replace(/"(\w{64})"/g, '["$1"]'), 'capitals': (text) => text.replace(/\w{64}/g, (hash) => hash.toUpperCase()),
    'a number': (text) => text.replace(/"\w{64}"/g, '5'), 'null': (text) => text.replace(/"\w{64}"/g, 'null'), '127 levels': (text) => `{"a":${'['.repeat(126)}${']'.repeat(126)},${text.slice(1)}`,
    '128 levels': (text) => `{"a":${'['.repeat(127)}${']'.repeat(127)},${text.slice(1)}`, 'other values': (text) => text.replace('"seq":', '"rest":[null,true,-1,0.5,1e+21,5e-324,"é\\n",{}],"seq":'),
    'U+FEFF before it': (text) => `\ufeff${text}`,
  };
  for (const [name, spelled] of Object.entries(spellings)) {
    const other = usual({spelled});
    for (const seq of [1, 3]) add(`exchange document ${seq}: ${name}`, other.file([[seq, 'exchange'], [seq, 'request']]), {forge: other});
  }
  // An open session; a turn that waits; heads of every size.
  for (let size = forge.begun + 1; size <= forge.log.length; size += 1) {
    for (const choice of [[[1, 'prompt']], [[3, 'prompt']], [[6, 'prompt'], [6, 'exchange']], [['artifact', 0]]]) add(`${choice.join()} under a head of ${size}`, forge.file(choice, size), {forge});
  }
  // Keys that the checker knows.
  const [old, young] = forge.keys.map(([, key]) => key.text);
  const one = forge.file([[1, 'response']]);
  for (const signers of [[], [old], [young], [old, young], [young, old], [keyOf(7).text], [young, keyOf(7).text]]) add(`${signers.length} keys`, one, {signers});
  for (const network of [null, 'regtest', 'signet', 'bitcoin']) add(`network ${network}`, forge.stamped(one, stampAt, later), {forge, network});

  // Rotations that do not hold.
  const at = one.lines.findIndex((entry) => entry[1].includes('|key_rotate|'));
  const [index] = one.lines[at];
  const more = (member) => ({...one, lines: one.lines.with(at, [...one.lines[at].slice(0, 3), ...(member === undefined ? [] : [member])])});
  const proof = forge.proof(index, index + 1);
  const elsewhere = noteBy(forge.keys[0][1], 'gently/elsewhere', index + 1, rootOf(forge.log.slice(0, index + 1)));
  const members = [undefined, [forge.head(index + 1, keyOf(0x22)), proof], [forge.head(index), forge.proof(index - 1, index)], [forge.head(index + 1), forge.proof(index - 1, index + 1)],
    [forge.head(index + 2, keyOf(0x11)), forge.proof(index, index + 2)], ['no note', proof], [elsewhere, proof], forge.proof(index, index + 1), [forge.head(index + 1), []], [],
    [`${forge.head(index + 1)}\u2014 witness.example/1 AAAAAAAA\n`, proof]];
  members.forEach((member, n) => {
    add(`rotation ${n}`, more(member), {forge});
    add(`rotation ${n}, stamped behind it`, forge.stamped(more(member), forge.log.length, [102, NOW + 3 * 365 * DAY]), {forge});
  });
  const late = rotated();
  late.rotate(0x33, NOW + 3 * 365 * DAY).other(NOW + 3 * 365 * DAY).rotate(0x44, NOW + 4 * 365 * DAY);
  add('three rotations', late.file([[1, 'response']]), {forge: late});
  add('three rotations, the last without its head', (() => {
    const file = late.file([[1, 'response']]);
    return {...file, lines: file.lines.map((entry, n) => (n === file.lines.length - 1 ? entry.slice(0, 3) : entry))};
  })(), {forge: late});
  for (const seed of [0x11, 0x22]) {
    const back = rotated();
    back.rotate(seed, NOW + 3 * 365 * DAY).other(NOW + 3 * 365 * DAY);
    add(`rotation back to ${seed}`, back.file([[1, 'response']]), {forge: back});
  }
  const between = new Forge({});
  between.start(null, NOW).turn('Q', 'A', NOW + 1).rotate(0x22, NOW + 2);
  add('rotation in an open session, at the end', between.file([[1, 'response']]), {forge: between});
  between.turn('Q', 'A', NOW + 3).end(null, NOW + 4);
  add('rotation in an open session', between.file([[1, 'response']]), {forge: between});
  add('rotation before the turn', between.file([[2, 'response']]), {forge: between});

  // Heads.
  const heads = {
    'by another key': forge.head(forge.log.length, keyOf(9)), 'by the old key': forge.head(forge.log.length, keyOf(0x11)), 'of another origin': noteBy(keyOf(0x22), 'gently/elsewhere', forge.log.length, rootOf(forge.log)),
    'with a cosignature': `${forge.head()}\u2014 witness.example/1 AAAAAAAA\n`, 'with an empty cosignature': `${forge.head()}\u2014 witness.example/1 AAAAAA==\n`, 'with 63 cosignatures': forge.head() + '\u2014 witness.example/1 AAAAAAAA\n'.repeat(63),
    'with 64 cosignatures': forge.head() + '\u2014 witness.example/1 AAAAAAAA\n'.repeat(64), 'with a name of a plus': `${forge.head()}\u2014 wit+ness AAAAAAAA\n`, 'with a blank more': `${forge.head()}\u2014 witness  AAAAAAAA\n`,
    'without the last newline': forge.head().slice(0, -1), 'with a line more': `${forge.head()}\n`, 'with an extension': forge.head().replace('\n\n', '\nmore\n\n'), 'with a long cosignature': `${forge.head()}\u2014 w ${'A'.repeat(8184)}\n`,
    'with a cosignature of 8,192 bytes': `${forge.head()}\u2014 ww ${'A'.repeat(8184)}\n`, 'with a longer one': `${forge.head()}\u2014 wwwwwww ${'A'.repeat(8184)}\n`, 'size 0': forge.head().replace(`\n${forge.log.length}\n`, '\n0\n'), 'size 0x': forge.head().replace('\n2', '\n02'), empty: '',
    'with its own line twice': forge.head() + forge.head().split('\n\n')[1], 'with a long name': `${forge.head()}\u2014 ${'w'.repeat(100)} AAAAAAAA\n`, 'with a longer name': `${forge.head()}\u2014 ${'w'.repeat(101)} AAAAAAAA\n`, 'with a name in other letters': `${forge.head()}\u2014 wítness/é漢 AAAAAAAA\n`, 'with a blank in another alphabet': `${forge.head()}\u2014 a\u00a0b AAAAAAAA\n`, 'with a mark of order': `${forge.head()}\u2014 a\ufeffb AAAAAAAA\n`, 'with a control': `${forge.head()}\u2014 a\u0085b AAAAAAAA\n`, 'with a tab': `${forge.head()}\u2014 a\tb AAAAAAAA\n`, 'with a unit separator': `${forge.head()}\u2014 a\u001fb AAAAAAAA\n`, 'with a key id of nobody': forge.head().replace(/(forge )..../, '$1AAAA'),
  };
  for (const [name, head] of Object.entries(heads)) add(`head ${name}`, {...one, head}, {forge});

  // Stamps.
  const stamp = (name, options, when = later, size = stampAt, file = one) => add(`stamp ${name}`, forge.stamped(file, size, when, options), {forge});
  for (const when of [[102, NOW + 20], [100, NOW + 3000], [99, NOW + 3000], [102, NOW - 600], [102, NOW - 601], [102, NOW - 365 * DAY], [102, NOW + 20 - 7200], [102, NOW + 20 - 7201], [0, NOW + 3000], [4294967295, NOW + 3000], [4294967296, NOW + 3000], [2 ** 53, NOW + 3000]]) stamp(`of ${when}`, {}, when);
  for (let size = 1; size <= forge.log.length; size += 1) stamp(`over ${size} lines`, {}, later, size);
  stamp('without a header', {header: null});
  stamp('of another header', {header: ground(5, NOW + 3000)});
  stamp('of the start\'s header', {header: ground(1, NOW - 600)});
  stamp('pending', {end: attested('pending', counted(Buffer.from('https://a.example')))});
  stamp('pending without a header', {end: attested('pending', counted(Buffer.from('https://a.example'))), header: null});
  stamp('pending at a wrong address', {end: attested('pending', counted(Buffer.from('https://a example')))});
  stamp('of litecoin', {end: attested('litecoin', varint(5))});
  const beside = (...others) => ({end: Buffer.concat([...others.flatMap((other) => [raw('ff'), other]), inBlock(102)])});
  stamp('beside ethereum', beside(attested('ethereum', varint(5))));
  stamp('beside ethereum of no number', beside(attested('ethereum', Buffer.from('abc'))));
  stamp('beside litecoin of no number', beside(attested('litecoin', raw('80'))));
  stamp('beside an empty unknown chain', beside(attested('unknown', raw(''))));
  for (const length of [8192, 8193]) stamp(`beside an unknown chain of ${length} bytes`, beside(attested('unknown', Buffer.alloc(length))));
  for (const length of [0, 1, 1000, 1001]) stamp(`beside a calendar of ${length} letters`, beside(attested('pending', counted(Buffer.alloc(length, 'a')))));
  for (const mark of ['?', '@', '%', '~', '_', ' ', '\n', 'é']) stamp(`beside a calendar with ${mark}`, beside(attested('pending', counted(Buffer.from(`a${mark}b`)))));
  stamp('beside a calendar with more', beside(attested('pending', Buffer.concat([counted(Buffer.from('a')), raw('00')]))));
  stamp('twice the same', beside(inBlock(102)));
  stamp('of a block of 2^63', beside(inBlock(2n ** 63n)));
  stamp('of a block of 2^62', beside(inBlock(2n ** 62n)));
  stamp('of a block of nine digits', beside(attested('bitcoin', raw('ffffffffffffffff7f'))));
  stamp('of a block of too many digits', beside(attested('bitcoin', raw('ffffffffffffffffff01'))));
  stamp('with an empty branch', {end: raw('ff')});
  stamp('with nothing behind its steps', {end: raw('')});
  stamp('with a branch of its own', {end: Buffer.concat([raw('ffff'), inBlock(102), inBlock(102)])});
  stamp('of an unknown chain', {end: attested('unknown', Buffer.from('abc'))});
  stamp('of two heights', {end: Buffer.concat([raw('ff'), inBlock(103), inBlock(102)])});
  stamp('of two heights, the lower too low', {end: Buffer.concat([raw('ff'), inBlock(102), inBlock(50)])});
  stamp('of one in a branch', {end: Buffer.concat([raw('ff'), raw('08'), inBlock(99), inBlock(102)])});
  stamp('with bytes behind', {end: Buffer.concat([inBlock(102), raw('00')])});
  stamp('with a payload too long', {end: attested('bitcoin', Buffer.concat([varint(102), raw('00')]))});
  stamp('with a payload too short', {end: attested('bitcoin', raw('ff'))});
  stamp('with an empty payload', {end: attested('bitcoin', raw(''))});
  stamp('with a long number', {end: attested('bitcoin', raw('e6808080808080808000'))});
  stamp('with a longer number', {end: attested('bitcoin', raw('e680808080808080808000'))});
  stamp('with a number of needless digits', {end: attested('bitcoin', raw('e60000').subarray(0, 1).length ? raw('e68000') : raw('00'))});
  for (const steps of [['02', '08'], ['03', '08'], ['f2', '08'], ['f3', '08'], ['f3', 'f3', 'f3', '08'], ['f3', 'f3', 'f3', 'f3', 'f3', 'f3', 'f3', '08'], ['f3', 'f3', 'f3', 'f3', 'f3', 'f3', '08'], [`f0${'00'.repeat(4064)}`, '08'], [`f0${'00'.repeat(4065)}`, '08'], ['f0', '08'], ['04', '08'], [], Array(250).fill('08'), Array(254).fill('08'), Array(255).fill('08'), Array(256).fill('08'), Array(257).fill('08'), Array(258).fill('08')]) stamp(`by ${steps.length} steps, ${steps[0] && steps[0].slice(0, 2)}`, {steps});
  stamp('by another key', {checkpoint: forge.head(stampAt, keyOf(0x22))});
  stamp('of another origin', {checkpoint: noteBy(keyOf(0x11), 'gently/elsewhere', stampAt, rootOf(forge.log.slice(0, stampAt)))});
  stamp('of rubbish', {checkpoint: 'rubbish'});
  stamp('of a cosigned head', {checkpoint: `${forge.head(stampAt)}\u2014 witness.example/1 AAAAAAAA\n`});
  const twin = usual();
  twin.other(NOW + 100).other(NOW + 2 * 365 * DAY);
  for (const size of [index + 1, forge.log.length]) add(`stamp over ${size} lines of another history`, twin.stamped(one, size, later, {checkpoint: noteBy(forge.keyAt(size), forge.origin, size, rootOf(twin.log.slice(0, size)))}), {forge});
  const larger = rotated();
  larger.other(NOW + 2 * 365 * DAY);
  add('stamp larger than the head', larger.stamped(one, larger.log.length, later), {forge});
  const stampedOne = forge.stamped(one, stampAt, later);
  const stampedFail = forge.stamped(forge.file([[3, 'prompt']]), stampAt, later);
  for (const [name, file] of [['answer', stampedOne], ['prompt with outcome', stampedFail]]) {
    file.lines.forEach((entry, n) => {
      if (entry.length === 4 && !Array.isArray(entry[3][1])) {
        add(`stamp of the ${name}, line ${n} without its proof`, {...file, lines: file.lines.with(n, entry.slice(0, 3))}, {forge});
        add(`stamp of the ${name}, line ${n} with a wrong proof`, {...file, lines: file.lines.with(n, entry.with(3, entry[3].with(0, ZEROS)))}, {forge});
        add(`stamp of the ${name}, line ${n} with an empty proof`, {...file, lines: file.lines.with(n, entry.with(3, []))}, {forge});
      } else if (entry.length === 3) add(`stamp of the ${name}, line ${n} with a proof that nothing asks for`, {...file, lines: file.lines.with(n, [...entry, forge.proof(entry[0], Math.max(stampAt, entry[0] + 1))])}, {forge});
      add(`no stamp of the ${name}, line ${n} with a proof`, {...file, stamp: null, lines: file.lines.map((x, m) => (m === n ? x : x.slice(0, 3).concat(x[1].includes('|key_rotate|') ? [x[3]] : [])))}, {forge});
      add(`stamp of the ${name}, line ${n} as a rotation`, {...file, lines: file.lines.with(n, [...entry.slice(0, 3), [forge.head(entry[0] + 1), forge.proof(entry[0], entry[0] + 1)]])}, {forge});
    });
  }

  // Documents and lines that somebody signed and no writer writes.
  const changes = {
    'genesis constant': ['genesis', (x) => { x.document.genesis = ZEROS; }], 'genesis created_at': ['genesis', (x) => { x.document.created_at += 1; }], 'genesis origin': ['genesis', (x) => { x.document.origin = 'gently/other'; }],
    'genesis origin empty': ['genesis', (x) => { x.document.origin = ''; }], 'genesis origin plus': ['genesis', (x) => { x.document.origin = 'a+b'; }], 'genesis signer': ['genesis', (x) => { x.document.signer = keyOf(9).text; }], 'genesis signer with a comment': ['genesis', (x) => { x.document.signer += ' me'; }],
    'genesis network': ['genesis', (x) => { x.document.network = 'mainnet'; }], 'genesis signet': ['genesis', (x) => { x.document.network = 'signet'; }], 'genesis bitcoin': ['genesis', (x) => { x.document.network = 'bitcoin'; }], 'genesis scheme': ['genesis', (x) => { x.document.commitments = 'sha512'; }], 'genesis other scheme': ['genesis', (x) => { x.document.commitments = 'sha256'; }],
    'genesis format': ['genesis', (x) => { x.document.format = 'gently/2'; }], 'genesis more': ['genesis', (x) => { x.document.more = 1; }], 'genesis fraction': ['genesis', (x) => { x.document.created_at += 0.5; }], 'genesis negative': ['genesis', (x) => { x.document.created_at = -1; }],
    'genesis height': ['genesis', (x) => { x.height = 5; }], 'genesis of a session': ['genesis', (x) => { x.session = 'a'.repeat(64); }], 'genesis is another event': ['genesis', (x) => { x.event = 'checkpoint'; }], 'genesis with another hash': ['genesis', (x) => { x.line = `${'a'.repeat(64)}|0|${stampOf(NOW)}|genesis|-|record:${H(jcs(x.document)).toString('hex')}`; }],
    'genesis of year 9999': ['genesis', (x) => { x.document.created_at = 253402300799; x.time = 253402300799; }], 'genesis of 1970': ['genesis', (x) => { x.document.created_at = 0; x.time = 0; }],
    'start prev_log': ['session_start', (x) => { x.document.prev_log = ZEROS; }], 'start auth': ['session_start', (x) => { x.details.auth = ZEROS; }], 'start auth in the document': ['session_start', (x) => { x.document.auth_key_hash = ZEROS; }], 'start opened_at': ['session_start', (x) => { x.document.opened_at += 1; }],
    'start branch': ['session_start', (x) => { x.details.branch = 'branch-1'; }], 'start branch in the document': ['session_start', (x) => { x.document.branch = 'branch-1'; }], 'start both branches': ['session_start', (x) => { x.document.branch = 'branch-1'; x.details.branch = 'branch-1'; }], 'start branch-8': ['session_start', (x) => { x.details.branch = 'branch-8'; }],
    'start id': ['session_start', (x) => { x.document.session_id = ZEROS; }], 'start session of the line': ['session_start', (x) => { x.session = ZEROS; }], 'start tier': ['session_start', (x) => { x.document.tier = 'one'; }], 'start phase': ['session_start', (x) => { x.document.phase = ''; }], 'start host_role': ['session_start', (x) => { x.document.host_role = 5; }], 'start tier large': ['session_start', (x) => { x.document.tier = 2 ** 53; }], 'start tier 1e3': ['session_start', (x) => { x.document.tier = 1e21; }],
    'start height of the line': ['session_start', (x) => { x.height = 99; }], 'start btc': ['session_start', (x) => { x.details.btc = 101; }], 'start btc and height': ['session_start', (x) => { x.details.btc = 101; x.height = 101; }], 'start block of the line': ['session_start', (x) => { x.details.block = 'a'.repeat(64); }], 'start block time': ['session_start', (x) => { x.document.block.time += 1; }], 'start block height': ['session_start', (x) => { x.document.block.height += 1; }],
    'start block source local': ['session_start', (x) => { x.document.block.source = 'local'; }], 'start block source other': ['session_start', (x) => { x.document.block.source = 'other'; }], 'start block network': ['session_start', (x) => { x.document.block.network = 'signet'; }], 'start block height 0': ['session_start', (x) => { x.document.block.height = 0; x.details.btc = 0; x.height = 0; x.document.branch = 'branch-1'; x.details.branch = 'branch-1'; }],
    'start block more': ['session_start', (x) => { x.document.block.more = 1; }], 'start of another time': ['session_start', (x) => { x.time = NOW - 600 - 7200; x.document.opened_at = x.time; }], 'start of an earlier time': ['session_start', (x) => { x.time = NOW - 600 - 7201; x.document.opened_at = x.time; }], 'start with a header line hash': ['session_start', (x) => { x.line = `${'a'.repeat(64)}|${x.height}|${stampOf(x.time)}|session_start|${x.session}|${Object.entries({...x.details, record: H(jcs(x.document)).toString('hex')}).map((p) => p.join(':')).join()}`; }],
    'record seq': ['response', (x) => { x.document.seq += 1; }], 'record seq of the line': ['response', (x) => { x.details.seq = 7; }], 'record seq large': ['response', (x) => { x.document.seq = 2 ** 53; }], 'record model': ['response', (x) => { x.document.model = 'other'; }], 'record model of the line': ['response', (x) => { x.details.model = 'other'; }], 'record both models': ['response', (x) => { x.document.model = 'a,b|c%d é'; x.details.model = 'a%2Cb%7Cc%25d %C3%A9'; }], 'record timestamp': ['response', (x) => { x.document.timestamp += 1; }],
    'record chain': ['response', (x) => { x.document.chain_entry = ZEROS; }], 'record chain of the line': ['response', (x) => { x.details.chain = ZEROS; }], 'record both chains': ['response', (x) => { x.document.chain_entry = ZEROS; x.details.chain = ZEROS; }], 'record prev': ['response', (x) => { x.document.prev = ZEROS; }], 'record response_hash': ['response', (x) => { x.document.response_hash = ZEROS; }], 'record hash of the line': ['response', (x) => { x.details.hash = ZEROS; }], 'record both hashes': ['response', (x) => { x.details.hash = ZEROS; x.document.response_hash = ZEROS; }],
    'record prompt_hash': ['response', (x) => { x.document.prompt_hash = ZEROS; }], 'record exchange_hash': ['response', (x) => { x.document.exchange_hash = ZEROS; }], 'record session': ['response', (x) => { x.document.session_id = ZEROS; }], 'record session of the line': ['response', (x) => { x.session = ZEROS; }], 'record authority': ['response', (x) => { x.document.authority_state = 'fine'; }], 'record refusal': ['response', (x) => { x.document.refusal = 'no'; }], 'record asked_at': ['response', (x) => { x.document.asked_at += 100; }], 'record asked long ago': ['response', (x) => { x.document.asked_at = 0; }],
    'record validator': ['response', (x) => { x.document.validator.more = true; }], 'record validator flag': ['response', (x) => { delete x.document.validator.schema_ok; }], 'record height of the line': ['response', (x) => { x.height = 7; }], 'record higher height': ['response', (x) => { x.height = 101; }], 'record much higher': ['response', (x) => { x.height = 500; }], 'record earlier': ['response', (x) => { x.time -= 365 * DAY; x.document.timestamp = x.time; }],
    'record kernel': ['response', (x) => { x.document.kernel_hash = '1'.repeat(64); }], 'record is denied': ['response', (x) => { x.event = 'denied'; }], 'record empty model': ['response', (x) => { x.document.model = ''; }],
    'close id': ['session_end', (x) => { x.document.session_id = ZEROS; }], 'close hash': ['session_end', (x) => { x.document.session_close_hash = ZEROS; }], 'close of the line': ['session_end', (x) => { x.details.close = ZEROS; }], 'close both hashes': ['session_end', (x) => { x.details.close = ZEROS; x.document.session_close_hash = ZEROS; }], 'close final': ['session_end', (x) => { x.document.final_chain_hash = ZEROS; }],
    'close closed_at': ['session_end', (x) => { x.document.closed_at += 1; }], 'close interactions': ['session_end', (x) => { x.document.interactions += 1; }], 'close interactions of the line': ['session_end', (x) => { x.details.interactions = 1; }], 'close both interactions': ['session_end', (x) => { x.document.interactions = 1; x.details.interactions = 1; }], 'close no interactions': ['session_end', (x) => { x.document.interactions = 0; x.details.interactions = 0; }], 'close many interactions': ['session_end', (x) => { x.document.interactions = 500; x.details.interactions = 500; }],
    'close no interactions, no final': ['session_end', (x) => { x.document.interactions = 0; x.details.interactions = 0; x.document.final_chain_hash = ZEROS; x.document.session_close_hash = H(raw(x.session), x.document.block.hash, raw(ZEROS)).toString('hex'); x.details.close = x.document.session_close_hash; }],
    'close another final': ['session_end', (x) => { x.document.final_chain_hash = '1'.repeat(64); x.document.session_close_hash = H(raw(x.session), x.document.block.hash, raw('1'.repeat(64))).toString('hex'); x.details.close = x.document.session_close_hash; }],
    'close height of the line': ['session_end', (x) => { x.height = 99; }], 'close btc': ['session_end', (x) => { x.details.btc = 99; }], 'close all heights': ['session_end', (x) => { x.height = 99; x.details.btc = 99; x.document.block.height = 99; }], 'close block network': ['session_end', (x) => { x.document.block.network = 'signet'; }], 'close block time': ['session_end', (x) => { x.document.block.time += 1; }], 'close block source local': ['session_end', (x) => { x.document.block.source = 'local'; }], 'close before its block': ['session_end', (x) => { x.time = NOW + 30 - 7201; x.document.closed_at = x.time; }],
    'close session of the line': ['session_end', (x) => { x.session = ZEROS; }],
    'rotate created_at': ['key_rotate', (x) => { x.document.created_at += 1; }], 'rotate old_signer': ['key_rotate', (x) => { x.document.old_signer = keyOf(5).text; }], 'rotate new_signer': ['key_rotate', (x) => { x.document.new_signer = keyOf(5).text; }], 'rotate format': ['key_rotate', (x) => { x.document.format = 'gently'; }], 'rotate height': ['key_rotate', (x) => { x.height = 0; }], 'rotate session': ['key_rotate', (x) => { x.session = ZEROS; }], 'rotate new_signer spelled otherwise': ['key_rotate', (x) => { x.document.new_signer = x.document.new_signer.replace('=', ''); }], 'rotate no key': ['key_rotate', (x) => { x.document.new_signer = 'none'; }],
    'fail seq': ['response_fail', (x) => { x.details.seq = 1; }], 'fail exchange': ['response_fail', (x) => { x.details.exchange = ZEROS; }], 'fail reason': ['response_fail', (x) => { x.details.reason = 'A'; }], 'fail session': ['response_fail', (x) => { x.session = ZEROS; }], 'prompt hash': ['prompt', (x) => { x.details.hash = ZEROS; }], 'prompt seq': ['prompt', (x) => { x.details.seq += 1; }], 'prompt session': ['prompt', (x) => { x.session = ZEROS; }], 'prompt outside': ['prompt', (x) => { x.session = '-'; }],
    'artifact kind': ['artifact', (x) => { x.details.kind = 'Note'; }], 'artifact hash': ['artifact', (x) => { x.details.hash = ZEROS; }], 'artifact session': ['artifact', (x) => { x.session = ZEROS; }], 'artifact id': ['artifact', (x) => { x.details.id = 'a,b'; }], 'artifact more': ['artifact', (x) => { x.details.more = 'a'; }],
  };
  for (const [name, [event, change]] of Object.entries(changes)) {
    const made = rotated({change: (line) => {
      if (line.event === event) change(line);
      return line;
    }});
    for (const choice of [[[1, 'prompt'], [1, 'response'], [1, 'exchange']], [[3, 'prompt'], [3, 'exchange']], [['artifact', 1]], [['artifact', 0]]]) {
      const file = made.file(choice);
      add(`${name}, opening ${choice.join()}`, file, {forge: made});
      if (choice[0][0] === 1) add(`${name}, stamped`, made.stamped(file, made.ended + 2, later), {forge: made});
    }
  }

  // Blocks: local ones, too few and too many headers, other heights, real ones at heights that are not theirs.
  for (const [name, first, last] of [['no blocks', null, null], ['a block at the end', null, [ground(2, NOW), 101]], ['a block at the start', [ground(1, NOW - 600), 100], null], ['one block', [ground(1, NOW), 100], [ground(1, NOW), 100]], ['one block at two heights', [ground(1, NOW), 100], [ground(1, NOW), 101]], ['falling heights', [ground(1, NOW), 101], [ground(2, NOW), 100]], ['a block of the future', [ground(1, NOW + 7200), 100], null], ['one second later', [ground(1, NOW + 7201), 100], null], ['height 4294967295', [ground(1, NOW), 4294967295], null], ['height 0', [ground(1, NOW), 0], null]]) {
    const made = new Forge({});
    made.start(first, NOW).turn('When?', 'Now', NOW + 1).end(last, NOW + 2);
    const file = made.file([[1, 'response']]);
    add(name, file, {forge: made});
    add(`${name}, stamped`, made.stamped(file, 4, later), {forge: made});
    add(`${name}, stamped in its first block`, made.stamped(file, 4, later, first ? {header: first[0]} : {}), {forge: made});
    add(`${name}, without headers`, {...file, headers: []}, {forge: made});
    add(`${name}, with a header more`, {...file, headers: [...file.headers, [100, ground(1, NOW)]]}, {forge: made});
    if (file.headers.length) {
      add(`${name}, with another header`, {...file, headers: file.headers.with(0, [file.headers[0][0], ground(7, NOW)])}, {forge: made});
      add(`${name}, with another height`, {...file, headers: file.headers.with(0, [7, file.headers[0][1]])}, {forge: made});
      add(`${name}, headers turned`, {...file, headers: file.headers.toReversed()}, {forge: made});
    }
  }
  for (const bits of [0x207fffff, 0x2100ffff, 0x20ffffff, 0x217fffff, 0x1f7fffff, 0x22007fff]) {
    const made = new Forge({});
    let header;
    try {
      header = ground(1, NOW, bits);
    } catch {
      continue;
    }
    made.start([header, 100], NOW + 1).turn('When?', 'Now', NOW + 2);
    add(`bits ${bits.toString(16)}`, made.file([[1, 'response']]), {forge: made});
    add(`stamp of bits ${bits.toString(16)}`, made.stamped(made.file([[1, 'response']]), 4, later, {bits}), {forge: made});
  }
  for (const network of ['bitcoin', 'testnet4', 'signet']) {
    const made = usual({network});
    add(`${network} by blocks made at home`, made.file([[1, 'response']]), {forge: made, network});
    add(`${network} by blocks made at home, stamped`, made.stamped(made.file([[1, 'response']]), 9, later), {forge: made, network});
  }
  const rows = fs.readFileSync(new URL('../data/btc/headers.csv', import.meta.url), 'utf8').trim().split('\n').slice(1).map((row) => row.split(','));
  const real = [...rows.map(([height, , header]) => [header, Number(height)]), [REAL, 1]];
  const known = real.filter((_, n) => n % 7 === 0);
  for (const [header, height] of known) {
    for (const [here, when] of [[height, 0], [height + 1, 0], [Math.max(1, height - 2016), 0], [1_100_000, 0], [955_584, 0], [height, -7201]]) {
      const time = headerTime(header) + 10 + when;
      if (time < 0) continue;
      const made = new Forge({network: 'bitcoin', time});
      made.start([header, here], time).turn('When?', 'Now', time + 1);
      const file = made.file([[1, 'response']]);
      add(`block ${height} of Bitcoin at ${here}, ${when}`, file, {forge: made, network: null});
      add(`block ${height} of Bitcoin at ${here}, ${when}, stamped at home`, made.stamped(file, 4, [here, time + 100]), {forge: made, network: null});
    }
  }
  // The bound of height and time, to a block.
  for (const height of [828575, 828576, 832608, 832609]) {
    for (const time of [NOW - 1, NOW, NOW + 1, NOW + 6000, NOW - 6000]) {
      const header = mined(Buffer.alloc(32, 1), time);
      const made = new Forge({network: 'bitcoin', time});
      made.start([header, height], time).turn('When?', 'Now', time + 1);
      add(`height ${height} at ${time - NOW}`, made.file([[1, 'response']]), {forge: made, network: null});
      add(`stamp of height ${height} at ${time - NOW}`, forge.stamped(one, stampAt, [height, time]), {forge});
    }
  }
  // A line more, of every kind, with its proof and its document.
  const two = rotated();
  two.start([ground(3, NOW + 3 * DAY), 105], NOW + 3 * DAY).turn('Another session', 'Yes', NOW + 3 * DAY + 2).note('of the other', NOW + 3 * DAY + 3).end(null, NOW + 3 * DAY + 4).other(NOW + 4 * DAY);
  const grown = (file, from, at) => {
    if (file.lines.some(([known]) => known === at)) return null;
    const entry = [at, from.log[at], from.proof(at), ...(from.log[at].split('|')[3] === 'key_rotate' ? [[from.head(at + 1), from.proof(at, at + 1)]] : [])];
    const lines = [...file.lines, entry].sort(([a], [b]) => a - b);
    return {...file, lines, documents: lines.map(([index]) => from.docs[index]).filter(Boolean)};
  };
  for (const choice of [[[1, 'response']], [['artifact', 2]]]) {
    const file = two.file(choice);
    for (let n = 0; n < two.log.length; n += 1) {
      const more = grown(file, two, n);
      if (more) add(`${choice.join()} with line ${n} more`, more, {forge: two});
    }
  }
  // Sessions that are not as sessions are.
  const odd = {
    'a note behind the end': (x) => x.turn('Q', 'A', NOW + 1).end(null, NOW + 2).note('late', NOW + 3),
    'a turn behind the end': (x) => x.end(null, NOW + 2).turn('Q', 'A', NOW + 3),
    'an answer behind the end': (x) => x.ask('Q', NOW + 1).end(null, NOW + 2).settle(1, 'A', NOW + 3),
    'an end twice': (x) => x.turn('Q', 'A', NOW + 1).end(null, NOW + 2).end(null, NOW + 3),
    'an answer twice': (x) => x.turn('Q', 'A', NOW + 1).settle(1, 'B', NOW + 2).end(null, NOW + 3),
    'a failure behind an answer': (x) => x.turn('Q', 'A', NOW + 1).settle(1, null, NOW + 2).end(null, NOW + 3),
    'an answer behind a failure': (x) => x.turn('Q', null, NOW + 1).settle(1, 'A', NOW + 2).end(null, NOW + 3),
    'no end': (x) => x.turn('Q', 'A', NOW + 1),
    'an end without an answer': (x) => x.turn('Q', null, NOW + 1, null).end(null, NOW + 2),
    'times that fall': (x) => x.turn('Q', 'A', NOW - DAY).end(null, NOW - 2 * DAY),
  };
  for (const [name, make] of Object.entries(odd)) {
    const made = make(new Forge({}).start([ground(1, NOW - 600), 100], NOW));
    const roles = ['prompt', 'response', 'exchange', 'request', 'reply'].filter((role) => made.turns[1] && made.turns[1].texts[role] !== undefined);
    const choices = [...roles.map((role) => [[1, role]]), roles.map((role) => [1, role]), ...(made.notes ? [[['artifact', 0]]] : [])];
    for (const choice of choices.filter((one) => one.length)) {
      const file = made.file(choice);
      add(`${name}, ${choice.join()}`, file, {forge: made});
      add(`${name}, ${choice.join()}, stamped`, made.stamped(file, made.log.length, later), {forge: made});
      for (let n = 0; n < made.log.length; n += 1) {
        const more = grown(file, made, n);
        if (more) add(`${name}, ${choice.join()}, with line ${n}`, more, {forge: made});
      }
    }
  }
  // An answer in no session, and openings of two.
  const [mine] = forge.file([[1, 'prompt']]).openings;
  for (const session_id of ['-', two.session, '', 'A'.repeat(64)]) add(`a prompt of session ${session_id.slice(0, 4)}`, {...one, openings: [{...mine, session_id}]}, {forge});
  add('openings of two sessions', {...two.file([['artifact', 2]]), openings: [...two.file([['artifact', 2]]).openings, mine]}, {forge: two});
  add('an artifact with a number', {...one, openings: [{...mine, role: 'artifact'}]}, {forge});
  add('a prompt without one', {...one, openings: [{...mine, seq: null}]}, {forge});
  // The first line twice; another log's lines under this head.
  add('line 0 twice', {...one, lines: [one.lines[0], ...one.lines], documents: [one.documents[0], ...one.documents]}, {forge});
  add('no genesis', {...one, lines: one.lines.slice(1), documents: one.documents.slice(1)}, {forge});
  add('lines turned', {...one, lines: one.lines.toReversed(), documents: one.documents.toReversed()}, {forge});
  // JSON of other spellings.
  const text = printed(one).toString();
  const spelled = {
    'a blank': text.replace('":', '": '), 'no newline': text.trim(), 'two newlines': `${text}\n`, 'a mark in front': `\ufeff${text}`, 'a key twice': text.replace('"format":"gently/1"', '"format":"gently/1","format":"gently/1"'), 'a needless escape': text.replace('honest', '\\u0068onest'), 'a slash escaped': text.replace('gently/1', 'gently\\/1'),
    'a text with controls': printed({...one, openings: [{...one.openings[0], text: '\u0000\b\t\n\f\r\u001f\u007f\u2028"\\/é漢😀'}]}).toString(), 'a capital escape': printed({...one, openings: [{...one.openings[0], text: '\u001f'}]}).toString().replace('\\u001f', '\\u001F'), 'a raw control': printed({...one, openings: [{...one.openings[0], text: 'x'}]}).toString().replace('"x"', '"\u0001"'),
    'a lone surrogate': printed({...one, openings: [{...one.openings[0], text: 'x'}]}).toString().replace('"x"', '"\\ud800"'), 'a number with a point': text.replace('[0,"', '[0.0,"'), 'a number with an exponent': text.replace('[0,"', '[0e0,"'), 'minus zero': text.replace('[0,"', '[-0,"'), 'minus one': text.replace('[0,"', '[-1,"'), 'a leading zero': text.replace('[0,"', '[00,"'), 'deep': `${'['.repeat(2000)}${']'.repeat(2000)}\n`, 'nothing': '', 'null': 'null\n', 'a list': '[]\n', 'an object': '{}\n', 'zeros': '\0\0\0\n', 'a fraction in a document': text.replace('"tier":1', '"tier":1.5'), 'an exponent in a document': text.replace('"tier":1', '"tier":1e+30'), 'a large number in a document': text.replace('"tier":1', '"tier":9007199254740993'), 'a document nested deep': text.replace('"tier":1', `"tier":${'['.repeat(200)}${']'.repeat(200)}`), 'a document nested a little': text.replace('"tier":1', `"tier":${'['.repeat(20)}${']'.repeat(20)}`), 'a document nested more': text.replace('"tier":1', `"tier":${'['.repeat(100)}${']'.repeat(100)}`), 'a document nested 123': text.replace('"tier":1', `"tier":${'['.repeat(123)}${']'.repeat(123)}`), 'a document nested 124': text.replace('"tier":1', `"tier":${'['.repeat(124)}${']'.repeat(124)}`), 'a document nested 125': text.replace('"tier":1', `"tier":${'['.repeat(125)}${']'.repeat(125)}`), 'a document nested 126': text.replace('"tier":1', `"tier":${'['.repeat(126)}${']'.repeat(126)}`), 'a huge number': text.replace('"tier":1', '"tier":1e400'), 'a small number': text.replace('"tier":1', '"tier":1e-7'), 'a small number spelled long': text.replace('"tier":1', '"tier":0.0000001'), 'NaN': text.replace('"tier":1', '"tier":NaN'), 'documents of other kinds': printed({...one, documents: [1, 'a', null]}).toString(), 'empty documents': printed({...one, documents: one.documents.map(() => ({}))}).toString(), 'a document as a list': printed({...one, documents: one.documents.with(0, [])}).toString(),
  };
  for (const [name, made] of Object.entries(spelled)) found.push({name: `spelled: ${name}`, bytes: Buffer.from(made), signers: [], network: 'regtest', alone: true});
  found.push({name: 'spelled: not UTF-8', bytes: Buffer.concat([Buffer.from(text.slice(0, 100)), Buffer.of(0xc3, 0x28), Buffer.from(text.slice(100))]), signers: [], network: null, alone: true});
  // Sizes.
  for (const text of ['', 'x'.repeat(300_000), '"\\'.repeat(50_000), '\u0001'.repeat(30_000)]) {
    const made = new Forge({});
    made.start(null, NOW).turn(text, text, NOW + 1);
    add(`texts of ${text.length}`, made.file([[1, 'prompt'], [1, 'response']]), {forge: made});
  }
  for (const room of [56_000, 60_000, 65_000, 70_000, 80_000]) {
    const many = `${forge.head()}${`\u2014 witness.example/1 ${'A'.repeat(4000)}\n`.repeat(Math.floor(room / 4024))}`;
    add(`a head of ${many.length}`, {...one, head: many}, {forge});
  }
  for (const size of [71_600, 71_680, 71_760, 72_000, 81_900, 82_000]) {
    const bare = printed({...one, stamp: {checkpoint: '', header: null, ots: ''}}).length - JSON.stringify(one.openings[0].text).length;
    const checkpoint = 'x'.repeat(Math.max(0, size - bare));
    add(`${size} bytes beside the texts`, {...one, stamp: {checkpoint, header: null, ots: ''}}, {forge});
  }
  return found;
};

// One turn of these texts, as an opening file.
export const forgedTexts = (prompt, response) => {
  const forge = new Forge({});
  forge.start(null, NOW).turn(prompt, response, NOW + 1).end(null, NOW + 2);
  return printed(forge.file([[1, 'prompt'], [1, 'response']]));
};
