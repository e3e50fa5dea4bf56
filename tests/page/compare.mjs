// The page's verifier, scripts/verify.py and, where GENTLY names it, the program: what each answers of the same files.
//
//     GENTLY=target/release/gently node tests/page/compare.mjs [--bytes 300] [--every N] [--most N] [FILE …]
//
// Without files: the opening files of tests/vectors, and those of tests/page/forge.mjs. Of each base, changed copies
// (tests/page/cases.mjs). --most takes so many of all these: every honest one, those at the borders of what is read, and
// of the others the same ones on every run. Exit 1 if two of them differ, unless the page says "not checked".
import {execFile, spawnSync} from 'node:child_process';
import {createRequire} from 'node:module';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {changedBytes, changedLines, changedValues, dice, printed} from './cases.mjs';
import {forged, forgedTexts} from './forge.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const at = (...parts) => path.join(here, '..', '..', ...parts);
const page = createRequire(import.meta.url)('../../genesis/share.js');
const epochs = page.readEpochs(fs.readFileSync(at('genesis/btc-epochs.csv'), 'utf8'));

const args = process.argv.slice(2);
const option = (name, otherwise) => {
  const found = args.indexOf(name);
  return found < 0 ? otherwise : args.splice(found, 2)[1];
};
const bytesEach = Number(option('--bytes', '300'));
const every = Number(option('--every', '1'));
const most = Number(option('--most', 'Infinity'));
const program = process.env.GENTLY;

const SAMPLES = 'tests/vectors/ledgers/honest';
const samples = () => {
  const signers = JSON.parse(fs.readFileSync(at(SAMPLES, 'expected.json'))).signers;
  return fs.readdirSync(at(SAMPLES, 'openings')).sort().map((name) => ({name, bytes: fs.readFileSync(at(SAMPLES, 'openings', name)), signers, network: null}));
};
// Files that the program writes in a home of its own, of sessions on no block and on real ones.
const real = (home) => {
  if (!program) return [];
  const rows = fs.readFileSync(at('tests/data/btc/headers.csv'), 'utf8').split('\n').filter((row) => /^(height|8296(0[4-9]|1\d)),/.test(row));
  fs.writeFileSync(path.join(home, 'headers.csv'), `${rows.join('\n')}\n`);
  const run = (...more) => {
    const env = {PATH: process.env.PATH, HOME: home, GENTLY_HOME: path.join(home, 'g'), GENTLY_MODEL_DEFAULT: 'observer', ...settings};
    const ran = spawnSync(program, more, {env, encoding: 'utf8', cwd: home});
    if (ran.status !== 0) throw new Error(`gently ${more.join(' ')}: ${ran.status}\n${ran.stderr}`);
    return ran.stdout;
  };
  let settings = {GENTLY_ANCHOR_MODE: 'off'};
  run('init');
  for (const question of ['How is this machine?', '<b>&amp;</b> "quotes" \\ ü 漢 😀 \u202e?', 'And now?']) run('ask', '--sight', question);
  run('session', 'close');
  const note = JSON.parse(run('note', 'add', 'Outside', '--json')).id;
  run('audit', 'open', 'last', '1', '2', '3', '--role', 'prompt,response', '--out', 'conversation.json');
  run('audit', 'open', '--artifact', note, '--out', 'artifact.json');
  settings = {GENTLY_ANCHOR_MODE: 'auto', GENTLY_ANCHOR_ESPLORA: '[]', GENTLY_ANCHOR_HEADERS: path.join(home, 'headers.csv')};
  run('ask', '--sight', 'When is this?');
  run('audit', 'open', 'last', '1', '--role', 'prompt,response,exchange,request', '--out', 'anchored.json');
  const signer = fs.readFileSync(path.join(home, 'g/keys/signing.key.pub'), 'utf8').split(' ').slice(0, 2).join(' ').trim();
  return ['conversation', 'artifact', 'anchored'].map((name) => ({name: `real: ${name}`, bytes: fs.readFileSync(path.join(home, `${name}.json`)), signers: [signer], network: null}));
};
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'page-'));

// Files as large as any that is read, and one byte larger; proofs as long, and one hash longer (ruling 126).
const borders = () => {
  const around = forgedTexts('x', '').length;
  const deep = (count) => {
    const file = JSON.parse(forgedTexts('x', 'y').toString());
    file.lines[0][2] = Array(count).fill('0'.repeat(64));
    return printed(file);
  };
  const all = [
    ['as large as is read', 0, forgedTexts('x', 'y'.repeat(page.MAX_FILE - around))], ['one byte larger', 2, forgedTexts('x', 'y'.repeat(page.MAX_FILE - around + 1))],
    ['64 hashes', 1, deep(64)], ['65 hashes', 2, deep(65)],
  ];
  return all.map(([name, code, bytes]) => ({name: `border: ${name}`, bytes, code, signers: [], network: null, alone: true, always: true}));
};

// ONLY=forged: the forged ones, each as it is; ONLY=bases: the others and their changed copies; NAMES: those that it matches.
const all = () => {
  const some = (list) => list.filter((one) => new RegExp(process.env.NAMES || '').test(one.name));
  if (process.env.ONLY === 'forged') return some(forged()).map((one) => ({...one, alone: true}));
  const honest = [...samples(), ...real(folder)].map((one) => ({...one, always: true}));
  return some([...honest, ...borders(), ...forged().filter((one) => process.env.ONLY !== 'bases' || !one.alone)]);
};
const bases = args.length ? args.map((name) => ({name: path.basename(name), bytes: fs.readFileSync(name), signers: [], network: null})) : all();

let cases = [];
for (const base of bases) {
  const add = ([name, bytes]) => cases.push({...base, name: `${base.name}: ${name}`, bytes, always: false});
  add(['as it is', base.bytes]);
  cases[cases.length - 1].always = base.always;
  if (base.alone) continue;
  changedBytes(base.bytes, bytesEach, base.bytes.length).forEach(add);
  const structured = [...changedValues(base.bytes), ...changedLines(base.bytes)];
  structured.filter((_, n) => n % every === 0).forEach(add);
}

const before = cases.length;
if (cases.length > most) {
  const roll = dice(most);
  const others = cases.filter((one) => !one.always);
  cases = cases.filter((one) => one.always);
  while (cases.length < most) cases.push(...others.splice(roll(others.length), 1));
}
cases.forEach((one, n) => {
  one.path = path.join(folder, `${n}.json`);
  fs.writeFileSync(one.path, one.bytes);
});

const begun = Date.now();
const ours = cases.map((one) => {
  try {
    return page.check(one.bytes, {epochs, pinned: one.signers, network: one.network});
  } catch (fault) {
    return {code: `share.js failed: ${fault.stack}`, answers: null, findings: []};
  }
});
const took = Date.now() - begun;

const python = spawnSync('python3', [path.join(here, 'verify_openings.py')], {
  input: JSON.stringify(cases.map((one) => [one.path, one.signers, one.network])), maxBuffer: 1 << 30, encoding: 'utf8',
});
if (python.status !== 0) throw new Error(`verify.py: ${python.stderr || python.error}`);
const theirs = [['verify.py', JSON.parse(python.stdout)]];

const judged = (one) => new Promise((done) => {
  const more = [...one.signers.flatMap((key) => ['--signer', key]), ...(one.network ? ['--network', one.network] : [])];
  execFile(program, ['audit', 'check', one.path, '--json', ...more], {maxBuffer: 1 << 26, env: {PATH: process.env.PATH, HOME: folder}}, (fault, out) => {
    const report = out.startsWith('{') ? JSON.parse(out) : {};
    done({answers: report.answers || null, code: fault ? fault.code : 0, why: report.findings || []});
  });
});
if (program) {
  const found = [];
  const worker = async (from) => {
    for (let n = from; n < cases.length; n += 4) found[n] = await judged(cases[n]);
  };
  await Promise.all([0, 1, 2, 3].map(worker));
  theirs.push(['program', found]);
} else {
  console.log('skipped: the program (name it with GENTLY=…)');
}

// What one verifier says, in a few words.
const words = ({answers, code}) => (answers ? `${code} ${page.QUESTIONS.map((name) => ({yes: 'y', no: 'n', 'not checked': '-'}[answers[name]])).join('')}` : String(code));
// "Not checked" where another answers is allowed of the page, as long as it calls nothing genuine that is not.
const softer = (our, their) => our.answers && their.answers && our.code >= their.code
  && page.QUESTIONS.every((name) => our.answers[name] === their.answers[name] || our.answers[name] === 'not checked');
let [agree, unchecked, differ] = [0, 0, 0];
cases.forEach((one, n) => {
  if (one.code === undefined || one.code === ours[n].code) return;
  differ += 1;
  console.log(`${one.name}: ${ours[n].code}, and not ${one.code}`);
});
const shown = new Map();
cases.forEach((one, n) => {
  const all = [['page', ours[n]], ...theirs.map(([who, found]) => [who, found[n]])];
  const said = all.map(([who, found]) => `${who} ${words(found)}`);
  if (all.every(([, found]) => words(found) === words(ours[n]))) agree += 1;
  else {
    const soft = all.every(([, found]) => softer(ours[n], found));
    if (soft) unchecked += 1;
    else differ += 1;
    const what = (soft ? 'left unchecked: ' : 'DIFFER: ') + said.join(', ');
    const why = process.env.WHY ? `\n        page: ${ours[n].no ? `${ours[n].no.at}: ${ours[n].no.why}` : ours[n].findings.map((x) => `${x.at}: ${x.text}`).join('; ')}\n        ${JSON.stringify(theirs[0][1][n].why)}` : '';
    shown.set(what, [...(shown.get(what) || []), one.name.replace(/: as it is$/, '') + why]);
  }
});
for (const [what, group] of shown) console.log(`${group.length} × ${what}\n    ${group.slice(0, Number(process.env.SHOW || 5)).join('\n    ')}`);
const count = (code) => ours.filter((one) => one.code === code).length;
const having = (word) => ours.filter((one) => one.answers && Object.values(one.answers).includes(word)).length;
console.log(`${bases.length} opening files, ${cases.length}${cases.length < before ? ` of ${before}` : ''} with their changed copies: ${agree} answers agree, ${unchecked} the page leaves unchecked, ${differ} differ`);
console.log(`page: ${count(0)} hold, ${count(1)} do not, ${count(2)} are no opening file; some answer is no in ${having('no')}; ${(took / cases.length).toFixed(1)} ms each; compared with ${theirs.map(([who]) => who).join(' and ')}`);
fs.rmSync(folder, {recursive: true});
process.exitCode = differ === 0 ? 0 : 1;
