// Makes the page of opening files, as `gently share --html` does: node tests/page/make.mjs FILE … > page.html
import crypto from 'node:crypto';
import fs from 'node:fs';
import {fileURLToPath} from 'node:url';

const read = (name) => fs.readFileSync(new URL(`../../genesis/${name}`, import.meta.url), 'utf8');

export const made = (files, script = read('share.js')) => {
  const parts = {
    SCRIPT: script,
    SCRIPT_SHA256: crypto.createHash('sha256').update(script).digest('base64'),
    OPENINGS: files.map((bytes) => bytes.toString('base64')).join('\n'),
    EPOCHS: read('btc-epochs.csv'),
  };
  return read('share.html').replace(/@@([A-Z0-9_]+)@@/g, (_, name) => parts[name]);
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.stdout.write(made(process.argv.slice(2).map((name) => fs.readFileSync(name))));
}
