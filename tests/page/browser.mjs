// The page in a real browser, from the disk and without a network: node tests/page/browser.mjs [--install] [--shots DIR]
//
// Chromium and playwright-core are taken from target/page, where --install puts them: the system's package, unpacked and
// not installed, and npm's. Without them the tests are skipped, and that is said. CHROMIUM names another browser.
import {execFileSync, spawnSync} from 'node:child_process';
import {createRequire} from 'node:module';
import fs from 'node:fs';
import path from 'node:path';
import {fileURLToPath, pathToFileURL} from 'node:url';
import {changedBytes, printed} from './cases.mjs';
import {forged} from './forge.mjs';
import {made} from './make.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const place = path.join(root, 'target/page');
const unpacked = path.join(place, 'chromium');
const page = createRequire(import.meta.url)('../../genesis/share.js');
const epochs = page.readEpochs(fs.readFileSync(path.join(root, 'genesis/btc-epochs.csv'), 'utf8'));

const ours = path.join(unpacked, 'usr/lib/chromium/chromium');
const library = path.join(place, 'npm/node_modules/playwright-core');

const install = () => {
  const debs = path.join(place, 'debs');
  fs.mkdirSync(path.join(debs, 'partial'), {recursive: true});
  fs.mkdirSync(path.join(place, 'npm'), {recursive: true});
  const run = (program, ...args) => execFileSync(program, args, {stdio: ['ignore', 'ignore', 'inherit'], cwd: path.join(place, 'npm')});
  run('apt-get', 'install', '-y', '--download-only', '--no-install-recommends', '-o', `Dir::Cache::archives=${debs}`, '-o', 'APT::Sandbox::User=root', 'chromium');
  for (const name of fs.readdirSync(debs).filter((one) => one.endsWith('.deb'))) run('dpkg', '-x', path.join(debs, name), unpacked);
  fs.writeFileSync(path.join(place, 'npm/package.json'), '{"private": true}\n');
  run('npm', 'install', '--no-fund', '--no-audit', '--silent', 'playwright-core@1');
};

const skip = (why) => {
  console.log(`skipped: the page in a browser (${why})`);
  process.exit(0);
};
if (process.argv.includes('--install') && !(fs.existsSync(ours) && fs.existsSync(library))) {
  try {
    install();
  } catch (fault) {
    skip(`Chromium or playwright-core can't be had: ${String(fault.message).split('\n')[0]}`);
  }
}
const inSystem = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((one) => fs.existsSync(one));
const browserAt = process.env.CHROMIUM || (fs.existsSync(ours) ? ours : inSystem);
if (!browserAt) skip('there is no Chromium; node tests/page/browser.mjs --install fetches it into target/page');
if (!fs.existsSync(library)) skip('there is no playwright-core; node tests/page/browser.mjs --install fetches it into target/page');
const {chromium} = createRequire(import.meta.url)(library);

const libraries = path.join(unpacked, 'usr/lib', spawnSync('dpkg-architecture', ['-qDEB_HOST_MULTIARCH'], {encoding: 'utf8'}).stdout?.trim() || `${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu`);
const env = {...process.env, HOME: place, LD_LIBRARY_PATH: browserAt === ours ? `${libraries}:${libraries}/pulseaudio` : process.env.LD_LIBRARY_PATH || ''};
// Nothing that looks for a network, a graphics card or a sandbox that a container does not give; a home of its own, and
// new, is playwright's.
const FLAGS = [
  '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--allow-file-access-from-files=false',
];
const browser = await chromium.launch({executablePath: browserAt, args: FLAGS, env});

let faults = 0;
let tests = 0;
const test = (name, good, more = '') => {
  tests += 1;
  if (good) return;
  faults += 1;
  console.log(`FAILED: ${name} ${more}`);
};

const folder = fs.mkdtempSync(path.join(place, 'pages-'));
let pages = 0;
const write = (html) => {
  pages += 1;
  const file = path.join(folder, `${pages}.html`);
  fs.writeFileSync(file, html);
  return file;
};

// Opens a page from the disk; whatever it asks for beside itself is noted, and refused.
const opened = async (html, options = {}) => {
  const context = await browser.newContext({offline: true, ...options});
  const tab = await context.newPage();
  const asked = [];
  await context.route('**/*', (route) => {
    const url = route.request().url();
    if (!url.startsWith('file:')) asked.push(url);
    return url.startsWith('file:') ? route.continue() : route.abort();
  });
  const complaints = [];
  tab.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  tab.on('pageerror', (fault) => complaints.push(String(fault)));
  const file = write(html);
  tab.on('request', (request) => request.url() !== pathToFileURL(file).href && asked.push(request.url()));
  const begun = Date.now();
  await tab.goto(pathToFileURL(file).href);
  const verdict = (await tab.locator('#verdict').innerText()).replace(/\s+/g, ' ').trim();
  const answers = await tab.evaluate(() => Object.fromEntries(Array.from(document.querySelectorAll('[data-answer]'), (one) => [one.previousSibling.textContent.replace(' ', '_'), one.textContent.split(':')[0]])));
  return {tab, context, verdict, answers, asked, complaints, file, mark: verdict[0], took: Date.now() - begun, checked: Number(await tab.locator('#took').textContent())};
};

const samples = path.join(root, 'tests/vectors/ledgers/honest/openings');
const bytes = (name) => fs.readFileSync(path.join(samples, name));
const times = [];

// Every sample: what the page says is what its verifier says in node; it asks for nothing.
for (const name of fs.readdirSync(samples)) {
  const said = await opened(made([bytes(name)]));
  const report = page.check(bytes(name), {epochs});
  test(name, said.mark === '✔' && said.verdict.includes('Genuine') && said.verdict.includes(page.fingerprint(report.signer)), said.verdict);
  test(`${name}: its answers`, JSON.stringify(said.answers) === JSON.stringify(report.answers), JSON.stringify(said.answers));
  test(`${name}: asks nobody`, said.asked.length === 0 && said.complaints.length === 0, JSON.stringify([said.asked, said.complaints]));
  test(`${name}: its title`, (await said.tab.title()) === '✔ Genuine');
  const texts = await said.tab.locator('.words').allTextContents();
  test(`${name}: its texts`, report.openings.every((one) => texts.includes(one.text)), JSON.stringify(texts));
  times.push(said.checked);
  await said.context.close();
}

// Changed files: never genuine unless node says so, and the same answers.
const whole = bytes('whole_turns.json');
const spoilt = [...changedBytes(whole, 40, 7), ...forged().filter((_, n) => n % 25 === 0).map((one) => [one.name, one.bytes])];
let agreed = 0;
const context = await browser.newContext({offline: true});
const tab = await context.newPage();
for (const [name, changed] of spoilt) {
  await tab.goto(pathToFileURL(write(made([changed]))).href);
  const mark = (await tab.locator('#verdict').innerText()).trim()[0];
  const report = page.check(changed, {epochs});
  const expected = {yes: '✔', no: '✘', open: '?'}[page.verdict(report).mark];
  test(`changed, ${name}`, mark === expected && (report.code === 0 || mark !== '✔'), `${mark}, in node ${expected}`);
  agreed += mark === expected ? 1 : 0;
}
await context.close();

// A changed byte of the answer: the page says where.
const all = JSON.parse(whole);
const wrong = (change) => {
  const copy = structuredClone(all);
  change(copy);
  return made([printed(copy)]);
};
let said = await opened(wrong((file) => {
  file.openings[1].text = '2+2 equals 5';
}));
test('a changed answer is named', said.verdict.startsWith('✘ Changed: the answer to question 1 is not the text that was put on record.'), said.verdict);
test('a changed answer is marked where it stands', (await said.tab.locator('.text.response').first().innerText()).includes('✘ This is not the text that was put on record.'));
await said.context.close();
said = await opened(wrong((file) => {
  file.lines[2][1] = file.lines[2][1].replace('06:14:02', '06:14:03');
}));
test('a changed line is named', /^✘ Changed: line 7 of the record \(response\): /.test(said.verdict), said.verdict);
await said.context.close();
said = await opened(made([Buffer.from(whole.toString().replace('"format":"gently/1","head"', '"formal":"gently/1","head"'))]));
test('a file of another form: the byte is named', /^✘ Changed: this is not a file as gently writes it\. /.test(said.verdict), said.verdict);
await said.context.close();

// Text is text: markup runs nothing, what is not seen is spelled out.
const evil = '</script><script>document.title = "owned"</script><img src=x onerror="document.title=\'owned\'"> \u202eright to left\u0000\u200b <b>bold</b> https://example.org/';
const {forgedTexts} = await import('./forge.mjs');
said = await opened(made([forgedTexts(evil, evil)]));
test('markup in a text is text', said.mark === '✔' && (await said.tab.title()) === '✔ Genuine' && (await said.tab.locator('.words img, .words b, .words script, .words a').count()) === 0, said.verdict);
test('what is not seen is spelled out', (await said.tab.locator('.words').first().innerText()).includes('\\u202eright to left\\u0000\\u200b') && (await said.tab.locator('.words mark').count()) > 0);
test('a text asks nobody', said.asked.length === 0, JSON.stringify(said.asked));
await said.context.close();

// Without its script, or with another one, the page calls nothing genuine.
said = await opened(made([whole]), {javaScriptEnabled: false}).catch(() => null);
if (said) {
  test('without script', said.verdict.startsWith('? Not checked'), said.verdict);
  await said.context.close();
} else {
  const off = await browser.newContext({offline: true, javaScriptEnabled: false});
  const plain = await off.newPage();
  await plain.goto(pathToFileURL(write(made([whole]))).href);
  test('without script', (await plain.locator('#verdict').innerText()).startsWith('? Not checked'));
  await off.close();
}
said = await opened(made([whole]).replace("'Genuine'", "'Genuine!'"));
test('with another script', said.verdict.startsWith('? Not checked') && said.complaints.some((one) => one.includes('Content Security Policy')), said.verdict);
await said.context.close();
said = await opened(made([whole]).replace('<script>', '<script>delete Uint8Array.prototype.every;'));
test('with more in its script', said.verdict.startsWith('? Not checked'), said.verdict);
await said.context.close();

// In a browser without WebCrypto, and in one that fails: the same answer, or none.
const context2 = await browser.newContext({offline: true});
await context2.addInitScript(() => Object.defineProperty(globalThis, 'crypto', {value: undefined}));
const bare = await context2.newPage();
await bare.goto(pathToFileURL(write(made([whole]))).href);
test('without WebCrypto', (await bare.locator('#verdict').innerText()).startsWith('✔ Genuine'));
await context2.close();
// WebCrypto without Ed25519, as it was in most browsers for years: the page has its own, and needs none.
const context4 = await browser.newContext({offline: true});
await context4.addInitScript(() => {
  for (const name of ['importKey', 'verify', 'digest']) {
    SubtleCrypto.prototype[name] = () => Promise.reject(new DOMException('Unrecognized name.', 'NotSupportedError'));
  }
});
const old = await context4.newPage();
await old.goto(pathToFileURL(write(made([whole]))).href);
test('without Ed25519 in WebCrypto', (await old.locator('#verdict').innerText()).startsWith('✔ Genuine'));
await context4.close();
const context3 = await browser.newContext({offline: true});
await context3.addInitScript(() => { globalThis.TextEncoder = undefined; });
const poor = await context3.newPage();
await poor.goto(pathToFileURL(write(made([whole]))).href);
test('in a browser that fails', (await poor.locator('#verdict').innerText()).startsWith('? Not checked'));
await context3.close();

// Keys: the right one, its fingerprint, another one, an older one, none.
said = await opened(made([bytes('under_the_second_key.json')]));
const signers = JSON.parse(fs.readFileSync(path.join(samples, '../expected.json'))).signers;
const with_ = async (pasted) => {
  await said.tab.locator('#key').fill(pasted);
  return (await said.tab.locator('#verdict').innerText()).replace(/\s+/g, ' ').trim();
};
for (const [pasted, expected] of [
  [signers[1], '✔ Genuine: put on record and signed by the key that you gave'], [signers.join('\n'), '✔ Genuine: put on record and signed by the key that you gave'],
  [signers.map((key) => `ledger@gently.invalid namespaces="git" ${key}`).join('\n'), '✔ Genuine: put on record and signed by the key that you gave'], [page.fingerprint(signers[1]), '✔ Genuine: put on record and signed by the key that you gave'],
  [`256 ${page.fingerprint(signers[1])} no comment (ED25519)`, '✔ Genuine: put on record and signed by the key that you gave'], [signers[0], '✘ Another key'], [page.fingerprint(signers[0]), '✘ Another key'], [signers.toReversed().join('\n'), '? Not proven'],
  ['rubbish', '✔ Genuine: put on record and signed by SHA256:'], ['ssh-ed25519 AAAA', '✔ Genuine: put on record and signed by SHA256:'], ['', '✔ Genuine: put on record and signed by SHA256:'],
]) {
  const verdict = await with_(pasted);
  test(`key ${pasted.slice(0, 30)}`, verdict.startsWith(expected), verdict);
  test(`key ${pasted.slice(0, 30)}: said when it is none`, (await said.tab.locator('#nokey').isVisible()) === ['rubbish', 'ssh-ed25519 AAAA'].includes(pasted));
}
// Another file, and another page, chosen in this one.
await said.tab.locator('#key').fill('');
await said.tab.locator('#other').setInputFiles(path.join(samples, 'failed_turn.json'));
await said.tab.waitForFunction(() => document.querySelectorAll('.words').length === 2);
test('another file', (await said.tab.locator('#verdict').innerText()).startsWith('✔ Genuine'));
// One that is larger than any that is read is not read, and called neither genuine nor changed.
const huge = path.join(folder, 'huge.json');
fs.writeFileSync(huge, '');
fs.truncateSync(huge, 64 << 20);
await said.tab.locator('#other').setInputFiles(huge);
await said.tab.waitForFunction(() => document.title.startsWith('?'));
test('a file that is too large', (await said.tab.locator('#verdict').innerText()).startsWith('? Not checked: the file is larger than any that is read'));
await said.tab.locator('#other').setInputFiles(write(wrong((file) => {
  file.openings[0].text = 'x';
})));
await said.tab.waitForFunction(() => document.title.startsWith('✘'));
test('another page', (await said.tab.locator('#verdict').innerText()).startsWith('✘ Changed'));
test('the file can be saved', (await said.tab.locator('.save a').getAttribute('href')).startsWith('data:application/json;base64,'));
const [download] = await Promise.all([said.tab.waitForEvent('download'), said.tab.locator('.save a').click()]);
test('the file is saved as it is', fs.readFileSync(await download.path()).includes('"text":"x"'));
await said.context.close();

// A page without files; several files, of which one is changed.
said = await opened(made([]));
test('an empty page', said.verdict.startsWith('? Nothing to check'), said.verdict);
await said.context.close();
said = await opened(made([whole, printed({...all, openings: all.openings.with(0, {...all.openings[0], text: 'x'})})]));
test('two files, one of them changed', said.mark === '✘', said.verdict);
await said.context.close();
said = await opened(made([whole, bytes('local_start.json')]));
test('two files', said.mark === '✔' && (await said.tab.locator('.texts').count()) === 2, said.verdict);
await said.context.close();

// A large one, for its time; narrow, dark, on paper.
said = await opened(made([forgedTexts('x'.repeat(100_000), 'é'.repeat(100_000))]));
test('a large file', said.mark === '✔', said.verdict);
const large = said.checked;
await said.context.close();
const shots = process.argv.includes('--shots') ? process.argv[process.argv.indexOf('--shots') + 1] : null;
for (const [name, options] of [['narrow', {viewport: {width: 375, height: 740}}], ['wide', {viewport: {width: 1000, height: 800}}], ['dark', {viewport: {width: 1000, height: 800}, colorScheme: 'dark'}]]) {
  for (const [kind, html] of [['good', made([whole])], ['changed', wrong((file) => { file.openings[1].text = '2+2 equals 5'; })]]) {
    said = await opened(html, options);
    const over = await said.tab.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    test(`${name}: nothing stands beyond the edge`, over <= 0, `${over} px`);
    if (shots) await said.tab.screenshot({path: path.join(shots, `${name}-${kind}.png`), fullPage: true});
    await said.context.close();
  }
}
said = await opened(made([whole]));
test('on paper', (await said.tab.pdf()).length > 1000);
await said.context.close();

await browser.close();
fs.rmSync(folder, {recursive: true});
times.sort((a, b) => a - b);
console.log(`page in ${path.basename(browserAt)}: ${tests - faults} of ${tests} hold; ${agreed} of ${spoilt.length} changed files as in node; checking takes ${times[0]} to ${times[times.length - 1]} ms (median ${times[times.length >> 1]}), ${large} ms for 300 KB of text`);
process.exitCode = faults ? 1 : 0;
