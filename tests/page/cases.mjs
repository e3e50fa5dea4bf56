// Changed copies of an opening file: bytes, values, parts. Each is [what was changed, bytes].

// The same numbers on every run, so that a failure can be made again.
export const dice = (seed) => {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
};

// RFC 8785 of what JSON.parse gave: numbers here are whole and small.
export const jcs = (value) => {
  if (Array.isArray(value)) return `[${value.map(jcs).join(',')}]`;
  if (value !== null && typeof value === 'object') {
    return `{${Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${jcs(value[key])}`).join(',')}}`;
  }
  return JSON.stringify(value);
};

export const printed = (value) => Buffer.from(`${jcs(value)}\n`);

// So many bytes of a file, each changed, left out or doubled.
export const changedBytes = (bytes, count, seed) => {
  const roll = dice(seed);
  const cases = [];
  const step = bytes.length / count;
  for (let n = 0; n < count; n += 1) {
    const at = Math.min(bytes.length - 1, Math.floor(n * step) + roll(Math.max(1, Math.floor(step))));
    const changed = Buffer.from(bytes);
    const how = n % 6;
    if (how === 4) cases.push([`without byte ${at}`, Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)])]);
    else if (how === 5) cases.push([`byte ${at} twice`, Buffer.concat([bytes.subarray(0, at + 1), bytes.subarray(at)])]);
    else {
      changed[at] ^= [1, 2, 1 << roll(7), 1 + roll(127)][how];
      cases.push([`byte ${at} is ${String.fromCharCode(changed[at])}`, changed]);
    }
  }
  return cases;
};

const others = (value, deep) => {
  if (typeof value === 'string') {
    const found = deep ? ['', `${value}1`] : [];
    for (const at of [0, value.length >> 1, value.length - 1]) {
      if (at < 0 || at >= value.length) continue;
      const old = value[at];
      found.push(value.slice(0, at) + (old === '1' ? '2' : '1') + value.slice(at + 1));
      if (deep) found.push(value.slice(0, at) + value.slice(at + 1));
    }
    return found;
  }
  if (typeof value === 'number') return deep ? [value + 1, Math.max(0, value - 1), 0, 4294967296, Number.MAX_SAFE_INTEGER] : [value + 1];
  if (typeof value === 'boolean') return [!value];
  if (value === null) return ['1', 1, [], {}];
  if (Array.isArray(value)) {
    const found = [];
    value.forEach((one, at) => {
      found.push(value.toSpliced(at, 1), value.toSpliced(at, 0, one));
      if (at + 1 < value.length) {
        const swapped = value.slice();
        [swapped[at], swapped[at + 1]] = [swapped[at + 1], swapped[at]];
        found.push(swapped);
      }
    });
    return found.concat([[], null]);
  }
  const found = [null, {...value, more: 1}];
  for (const key of Object.keys(value)) {
    const without = {...value};
    delete without[key];
    found.push(without);
  }
  return found;
};

// Every value of a file, changed; printed as a writer prints, so that most of these read.
export const changedValues = (bytes, deep = true) => {
  const all = JSON.parse(bytes.toString());
  const cases = [];
  const walk = (value, place, put) => {
    for (const other of others(value, deep)) {
      if (jcs(other) !== jcs(value)) cases.push([`${place} = ${jcs(other).slice(0, 60)}`, printed(put(other))]);
    }
    if (Array.isArray(value)) {
      value.forEach((one, at) => walk(one, `${place}/${at}`, (other) => put(value.with(at, other))));
    } else if (value !== null && typeof value === 'object') {
      for (const key of Object.keys(value)) walk(value[key], `${place}/${key}`, (other) => put({...value, [key]: other}));
    }
  };
  walk(all, '', (other) => other);
  return cases;
};

// Fields of log lines, with a spelling that still is one.
export const changedLines = (bytes) => {
  const all = JSON.parse(bytes.toString());
  const cases = [];
  all.lines.forEach((entry, n) => {
    const fields = entry[1].split('|');
    const put = (what, at, value) => {
      const lines = all.lines.with(n, entry.with(1, fields.with(at, value).join('|')));
      cases.push([`line ${n}: ${what}`, printed({...all, lines})]);
    };
    put('hash', 0, 'a'.repeat(64));
    for (const height of ['0', '1', '829003', '4294967295', '4294967296', '01']) put(`height ${height}`, 1, height);
    for (const time of ['2024-02-30T00:00:00Z', '1969-12-31T23:59:59Z', '9999-12-31T23:59:59Z', '2024-02-05T24:00:00Z', '2024-02-05T23:59:60Z']) put(time, 2, time);
    for (const event of ['genesis', 'session_start', 'auth_ok', 'prompt', 'response', 'artifact', 'session_end', 'key_rotate', 'other', 'OTHER', '']) put(event, 3, event);
    put('no session', 4, '-');
    put('another session', 4, 'b'.repeat(64));
    const pairs = fields[5].split(',');
    pairs.forEach((pair, at) => {
      put(`without ${pair}`, 5, pairs.toSpliced(at, 1).join(',') || '-');
      put(`${pair} twice`, 5, pairs.toSpliced(at, 0, pair).join(','));
      const [key, value] = pair.split(':');
      for (const other of ['', '0', '1', '2', '18446744073709551615', '18446744073709551616', '%41', '%c3%A9', '%C3', '%C3%A9', 'é', `${value}x`, value.toUpperCase()]) {
        put(`${key}:${other}`, 5, pairs.with(at, `${key}:${other}`).join(','));
      }
    });
    put('no details', 5, '-');
  });
  return cases;
};
