// What the page's script is made of, without a browser: node tests/page/unit.mjs
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import {createRequire} from 'node:module';
import fs from 'node:fs';
import {dice} from './cases.mjs';
import {forged} from './forge.mjs';
import {made} from './make.mjs';

const page = createRequire(import.meta.url)('../../genesis/share.js');
const read = (name) => fs.readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8');
const epochs = page.readEpochs(read('genesis/btc-epochs.csv'));
const {hex, unhex, utf8} = page;
const tests = {};

tests['hashes are those of OpenSSL'] = () => {
  for (const name of ['sha256', 'sha512', 'sha1', 'ripemd160']) {
    for (let length = 0; length < 300; length += 1) {
      const bytes = crypto.createHash('shake256', {outputLength: length + 1}).update(String(length)).digest().subarray(0, length);
      let expected;
      try {
        expected = crypto.createHash(name).update(bytes).digest('hex');
      } catch {
        break; // an OpenSSL without it
      }
      assert.equal(hex(page[name](bytes)), expected, `${name} of ${length} bytes`);
    }
  }
  assert.equal(hex(page.ripemd160(utf8('abc'))), '8eb208f7e05d987a9b044a8e98c6b087f15a0bfc');
  assert.equal(hex(page.keccak256(utf8(''))), 'c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470');
  assert.equal(hex(page.keccak256(utf8('abc'))), '4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45');
  for (let length = 130; length < 140; length += 1) assert.equal(page.keccak256(new Uint8Array(length)).length, 32);
};

tests['commitments are those of the vectors'] = () => {
  for (const one of JSON.parse(read('tests/vectors/commitment.json'))) {
    const commitment = one.scheme === 'sha256' ? page.sha256(utf8(one.text)) : page.hmac(unhex(one.opening_key), utf8(one.text));
    assert.equal(hex(commitment), one.commitment);
    if (one.salt && one.opening_key) assert.equal(hex(page.hmac(unhex(one.salt), utf8(`gently/1/${one.role}`))), one.opening_key);
  }
};

tests['signatures are judged by the one predicate'] = () => {
  const string = (bytes) => Buffer.concat([Buffer.from([0, 0, 0, bytes.length]), bytes]);
  const cases = JSON.parse(read('tests/vectors/ours/signatures.json'));
  for (const one of cases) {
    const digest = crypto.createHash('sha512').update(unhex(one.message)).digest();
    const signed = Buffer.concat([Buffer.from('SSHSIG'), string(Buffer.from('git')), string(Buffer.alloc(0)), string(Buffer.from('sha512')), string(digest)]);
    assert.equal(page.verifies(unhex(one.key), signed, unhex(one.signature)), one.holds, one.name);
  }
  assert.ok(cases.length > 50);
  const {publicKey, privateKey} = crypto.generateKeyPairSync('ed25519');
  const key = publicKey.export({format: 'der', type: 'spki'}).subarray(-32);
  for (let n = 0; n < 20; n += 1) {
    const message = crypto.randomBytes(n * 37);
    const signature = crypto.sign(null, message, privateKey);
    assert.ok(page.verifies(key, message, signature));
    for (const at of [0, 31, 32, 63]) {
      const changed = Buffer.from(signature);
      changed[at] ^= 1 << (n % 8);
      assert.ok(!page.verifies(key, message, changed));
    }
    assert.ok(!page.verifies(key, Buffer.concat([message, Buffer.of(0)]), signature));
  }
};

tests['base64 has one spelling'] = () => {
  for (let length = 0; length < 100; length += 1) {
    const bytes = crypto.randomBytes(length);
    assert.equal(page.base64(bytes), bytes.toString('base64'));
    assert.deepEqual(Buffer.from(page.unbase64(bytes.toString('base64'))), bytes);
  }
  for (const text of ['A', 'AA', 'AAA', 'AB==', 'AAB=', 'AA=A', '====', 'A===', 'AA==AAAA', 'AA A', 'AAA-', 'AAA\n', 'é===']) assert.equal(page.unbase64(text), null, text);
  assert.equal(page.unbase64('').length, 0);
};

// The cases of src/record/unseen.rs.
tests['what moves, hides or reorders is spelled out'] = () => {
  const cases = [
    ['a\n\tb é 漢字 ñ', 'a\n\tb é 漢字 ñ'], ['\u001b]0;owned\u0007', '\\u001b]0;owned\\u0007'], ['a\rb\u0008\u007f\u0000', 'a\\rb\\u0008\\u007f\\u0000'], ['\u009b2J\u0085\u009d', '\\u009b2J\\u0085\\u009d'],
    ['x\u202ey\u2066z\u200f\u061c', 'x\\u202ey\\u2066z\\u200f\\u061c'], ['\u2028\u2029', '\\u2028\\u2029'], ['a\u200bb\u200cc\u200dd\u2060\ufeff\u00ad', 'a\\u200bb\\u200cc\\u200dd\\u2060\\ufeff\\u00ad'], ['\u{e0041}', '\\udb40\\udc41'],
    ['a\ufe0f\ufe01\u{e0100}', 'a\\ufe0f\\ufe01\\udb40\\udd00'], ['\u3164\uffa0\u115f\u034f\u180e\ufff9', '\\u3164\\uffa0\\u115f\\u034f\\u180e\\ufff9'],
  ];
  for (const [text, shown] of cases) assert.equal(page.spelled(text), shown);
  for (const text of ['❤️ 1️⃣ 👩‍💻 👍🏽', 'می‌خواهم', 'क्‍ष', 'naïve Việt Nam e\u0301\u0323', 'שָׁלוֹם']) assert.equal(page.spelled(text), text);
  for (const text of ['1\ufe0f2', 'a\u200db', '👍\u200db', '\ufe0f', '❤\ufe0f\ufe0f', '🏴\u{e0067}']) assert.notEqual(page.spelled(text), text);
  assert.ok(page.spelled(`a${'\u0301'.repeat(20)}`).includes('\\u0301'));
  assert.deepEqual(page.spelledParts('a\\u202e\u202eb'), [['a\\u202e', false], ['\\u202e', true], ['b', false]]);
};

tests['fingerprints are those of ssh-keygen'] = () => {
  const [first] = JSON.parse(read('tests/vectors/ledgers/honest/expected.json')).signers;
  const blob = Buffer.from(first.split(' ')[1], 'base64');
  assert.equal(page.fingerprint(first), `SHA256:${crypto.createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')}`);
};

// The first line says "genuine" of a file if, and only if, it holds and nothing that was looked at is no.
tests['the verdict follows from the answers'] = () => {
  const marks = {};
  for (const [n, one] of forged().entries()) {
    for (const pinned of n % 7 ? [one.signers] : [one.signers, []]) {
      const report = page.check(one.bytes, {epochs, pinned, network: one.network});
      const {mark, word, text} = page.verdict(report, pinned);
      const holds = report.code === 0 && !Object.values(report.answers).includes('no');
      assert.equal(mark === 'yes', holds, `${one.name}: ${word}: ${text}`);
      assert.equal(word === 'Genuine', holds, one.name);
      assert.ok(!/undefined|null|NaN|\[object/.test(text), `${one.name}: ${text}`);
      marks[word] = (marks[word] || 0) + 1;
    }
  }
  for (const word of ['Genuine', 'Changed', 'Not signed', 'Wrong about the time', 'Another key', 'Not proven']) assert.ok(marks[word] > 0, `${word}: ${JSON.stringify(marks)}`);
};

tests['what is pasted is a key, or is said to be none'] = () => {
  const signers = JSON.parse(read('tests/vectors/ledgers/honest/expected.json')).signers;
  const reports = [{signer: signers[1]}];
  assert.deepEqual(page.keysOf('', reports), []);
  assert.deepEqual(page.keysOf(' \n', reports), []);
  assert.equal(page.keysOf('my key', reports), null);
  assert.equal(page.keysOf('ssh-ed25519 AAAA', reports), null);
  assert.equal(page.keysOf(`${signers[0]}A`, reports), null);
  assert.deepEqual(page.keysOf(signers.join(' me@here\n'), reports), signers);
  assert.deepEqual(page.keysOf(page.fingerprint(signers[1]), reports), [signers[1]]);
  assert.deepEqual(page.keysOf(page.fingerprint(signers[0]), reports), [page.fingerprint(signers[0])]);
};

tests['a role of a later format is not called a change'] = () => {
  const text = read('tests/vectors/ledgers/honest/openings/one_response.json');
  const of = (role) => page.verdict(page.check(utf8(text.replace('"role":"response"', `"role":"${role}"`)), {epochs}));
  assert.deepEqual([of('trace').mark, of('trace').word], ['open', 'Not checked']);
  assert.deepEqual([of('reply').mark, of('reply').word], ['no', 'Changed']);
  assert.deepEqual([of('Reply').mark, of('prompt').mark], ['no', 'no']);
  assert.ok(!/\r/.test(read('genesis/share.js') + read('genesis/share.html')), 'a browser would read other line ends, and another script');
};

tests['a request and a reply are carried by the exchange document of their turn'] = () => {
  const said = new Map(forged().map((one) => [one.name.replace('forged: ', ''), page.check(one.bytes, {epochs, pinned: one.signers, network: one.network})]));
  const no = (name) => Object.entries(said.get(name).answers).filter(([, answer]) => answer === 'no').map(([about]) => about);
  for (const name of ['1 exchange, 1 request, 1 reply', '1 exchange, 1 reply', 'exchange document 1: 127 levels', 'exchange document 3: other values']) assert.deepEqual(no(name), [], name);
  for (const name of ['1 request, 1 exchange', '1 exchange, 1 reply, 1 request', '1 exchange, 1 request, 1 request']) assert.deepEqual(no(name), ['consistent'], name);
  const bare = ['1 request', '1 prompt, 1 reply', '1 exchange, 2 request', '1 request, 2 exchange', '3 request'];
  const spelled = ['without the members', 'a blank', 'an end of line', 'nothing', 'a list', 'a key twice', 'out of order', 'an escape', 'a half', '1.0', 'lists', 'capitals', 'a number', 'null', '128 levels', 'U+FEFF before it'];
  for (const name of [...bare, ...spelled.flatMap((one) => [1, 3].map((seq) => `exchange document ${seq}: ${one}`))]) assert.deepEqual(no(name), ['commitment'], name);
};

tests['what is too large is not unfolded, and is not called a change'] = () => {
  const said = (bytes) => page.verdict(page.check(bytes, {epochs}));
  const values = (count) => utf8(`[${'0,'.repeat(count)}0]`);
  assert.equal(page.outsideStrings(utf8('["a\\"],,",1]')), 6);
  assert.equal(page.outsideStrings(values(5)), 13);
  const border = values((page.MAX_STRUCTURE - 4) / 2);
  assert.equal(page.outsideStrings(border), page.MAX_STRUCTURE - 1);
  assert.deepEqual([said(border).word, said(values(page.MAX_STRUCTURE / 2)).word], ['Changed', 'Not checked']);
  const text = (length) => new Uint8Array(length).fill(0x61);
  assert.equal(said(text(page.MAX_FILE + 1)).word, 'Not checked');
  assert.match(said(text(page.MAX_FILE + 1)).text, /33554433 bytes/);
};

tests['the page asks nobody, and holds what it is made of'] = () => {
  const script = read('genesis/share.js');
  const html = read('genesis/share.html');
  assert.ok(!/<\/script|<!--|@@/i.test(script), 'the script can stand in a page');
  assert.ok(!/\b(fetch|XMLHttpRequest|WebSocket|EventSource|sendBeacon|importScripts|import|eval|Function|innerHTML|outerHTML|insertAdjacentHTML|document\.write|localStorage|crypto)\b/.test(script.replace(/^ *\/\/.*$/gm, '')), 'nothing that asks, runs or parses');
  assert.ok(!/https?:|\/\/[a-z]/.test(html), 'no address');
  assert.deepEqual([...html.matchAll(/@@[A-Z0-9_]+@@/g)].map(([name]) => name).sort(), ['@@EPOCHS@@', '@@OPENINGS@@', '@@SCRIPT@@', '@@SCRIPT_SHA256@@']);
  assert.ok(!/[<&]/.test(read('genesis/btc-epochs.csv')), 'the table needs no escaping');
  const whole = made([Buffer.from('one'), Buffer.from('two')]);
  assert.ok(whole.includes('<script type="text/plain" id="opening">b25l\ndHdv</script>') && !whole.includes('@@'));
  const policy = /script-src 'sha256-([^']+)'/.exec(whole)[1];
  assert.equal(policy, crypto.createHash('sha256').update(/<script>([^]*)<\/script>/.exec(whole)[1]).digest('base64'));
};

// Whatever is thrown at it: an answer, and no other exception.
tests['rubbish is refused in words'] = () => {
  const roll = dice(5);
  const honest = fs.readFileSync(new URL('../vectors/ledgers/honest/openings/one_response.json', import.meta.url));
  for (let n = 0; n < 300; n += 1) {
    const bytes = Buffer.from(honest);
    for (let m = 0; m < 1 + roll(4); m += 1) {
      const at = roll(bytes.length);
      bytes.fill(roll(256), at, Math.min(bytes.length, at + roll(1 + roll(60))));
    }
    const report = page.check(n % 3 ? bytes : bytes.subarray(0, roll(bytes.length)), {epochs});
    const {mark, text} = page.verdict(report);
    assert.ok(text.length > 0 && (mark === 'yes') === (report.code === 0));
  }
};

let faults = 0;
for (const [name, test] of Object.entries(tests)) {
  try {
    test();
  } catch (fault) {
    faults += 1;
    console.log(`FAILED: ${name}\n${fault.stack}`);
  }
}
console.log(`the page's script: ${Object.keys(tests).length - faults} of ${Object.keys(tests).length} tests hold`);
process.exitCode = faults ? 1 : 0;
