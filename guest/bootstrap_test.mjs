// Runs bootstrap.js in a fresh realm of Node's, with a `native` made of Node's
// own functions, and compares what it defines with what Node has:
//
//	node --test guest/bootstrap_test.mjs

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { inspect, types } from 'node:util';
import v8 from 'node:v8';
import vm from 'node:vm';

if (!ArrayBuffer.prototype.transfer) v8.setFlagsFromString('--harmony-rab-gsab-transfer');

const source = readFileSync(new URL('bootstrap.js', import.meta.url), 'utf8');
const bootstrap = new vm.Script(source, { filename: 'codemode:bootstrap' });

const branded = f => v => {
  try {
    f.call(v);
    return true;
  } catch {
    return false;
  }
};
const isDOMException = branded(Object.getOwnPropertyDescriptor(DOMException.prototype, 'name').get);
const isWeakRef = branded(WeakRef.prototype.deref);

function kindOf(v) {
  if (types.isProxy(v)) return 'proxy';
  if (typeof v === 'function') return 'function';
  if (Array.isArray(v)) return 'array';
  if (isDOMException(v)) return 'object';
  const is = [
    ['map', types.isMap], ['set', types.isSet], ['date', types.isDate], ['regexp', types.isRegExp], ['error', types.isNativeError],
    ['promise', types.isPromise], ['boxed', types.isBoxedPrimitive], ['arraybuffer', types.isAnyArrayBuffer],
    ['typedarray', ArrayBuffer.isView], ['weakmap', types.isWeakMap], ['weakset', types.isWeakSet],
    ['weakref', isWeakRef], ['generator', types.isGeneratorObject],
    ['arguments', types.isArgumentsObject],
  ];
  for (const [kind, test] of is) if (test(v)) return kind;
  return 'object';
}

// The bytes of a view of any realm, whatever has been done to its prototypes.
function view(v) {
  const proto = types.isDataView(v) ? DataView.prototype : Object.getPrototypeOf(Uint8Array.prototype);
  const get = name => Reflect.apply(Object.getOwnPropertyDescriptor(proto, name).get, v, []);
  return new Uint8Array(get('buffer'), get('byteOffset'), get('byteLength'));
}

// A realm after the bootstrap. `global` holds what programs see, `lines` the
// console, `used` how often each native function was called.
function realm(more = {}) {
  const context = vm.createContext({ DOMException, ...more });
  const run = code => vm.runInContext(code, context);
  const lines = [], used = {}, settled = new Map();
  const Bytes = run('Uint8Array');
  let clock = 1000;
  const native = {
    __proto__: null,
    log: (level, text) => { lines.push([level, text]); },
    utf8Encode: s => new Bytes(Buffer.from(s, 'utf8')),
    utf8Decode: (b, fatal, ignoreBOM) => new TextDecoder('utf-8', { fatal, ignoreBOM }).decode(b),
    randomFill: b => { crypto.getRandomValues(view(b)); },
    now: () => clock++,
    inspectKind: kindOf,
    promiseState: p => settled.get(p) ?? [0, undefined],
    // Without what Node's test runner hangs on promises.
    ownKeys: o => { if (types.isProxy(o)) throw new Error('looked into a Proxy'); return Reflect.ownKeys(o).filter(k => typeof k === 'string' || !/async_id_symbol$/.test(k.description)); },
    getOwn: (o, k) => {
      if (types.isProxy(o)) throw new Error('looked into a Proxy');
      const d = Reflect.getOwnPropertyDescriptor(o, k);
      return d && { __proto__: null, ...d };
    },
  };
  for (const name of Object.keys(native)) {
    const f = native[name];
    native[name] = (...a) => {
      used[name] = (used[name] ?? 0) + 1;
      return f(...a);
    };
  }
  const global = run('globalThis');
  const result = bootstrap.runInContext(context)(native, global);
  const logged = (...args) => {
    lines.length = 0;
    global.console.log(...args);
    return lines.map(l => l[1]).join('\n');
  };
  return { run, global, lines, used, settled, result, logged };
}

const parts = ['href', 'origin', 'protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search', 'hash'];
// The standard encodes ^ in paths since the end of 2024; older Nodes do not.
const seen = u => parts.map(p => `${p}: ${u[p].replaceAll('^', '%5E')}`).join('  ');
const attempt = f => {
  try {
    return f();
  } catch (e) {
    return `throws ${e.name}`;
  }
};
// Where released Nodes differ from the standard, which the tests then state by
// themselves: .. at the end of the path of a scheme that is not special, a
// fragment in a reference to an opaque base, spaces at the end of an opaque path.
const behind = s => /^[^:]*:[^?#]*(^|[/\\:])(\.|%2e){2}[\t\n ]*([?#]|$)/i.test(s) && !/^\W*(https?|wss?|ftp|file):/i.test(s);
const standard = [
  ['foo:/..', undefined, 'foo:/', '/'], ['foo://a/.%2e?#', undefined, 'foo://a/?#', '/'], ['foo://h/a/..', undefined, 'foo://h/', '/'], ['..', 'foo://h/a/b?q', 'foo://h/', '/'], ['/..', 'foo:/a/b', 'foo:/', '/'],
  ['mailto:x  ?q', undefined, 'mailto:x %20?q', 'x %20'], ['data:x  #f', undefined, 'data:x %20#f', 'x %20'], ['data:x  ', undefined, 'data:x', 'x'], ['http://h/^', undefined, 'http://h/%5E', '/%5E'],
  ['#y', 'foo:opaque?q', 'foo:opaque?q#y', 'opaque'],
];
const refused = [['/#y', 'mailto:a@b'], ['x#y', 'data:,'], ['//#', 'about:blank'], ['', 'foo:o'], ['http://xn--/', undefined], ['http://xn--a-/', undefined], ['http://xn--é/', undefined]];

// Reports all differences of a table at once.
function same(rows, got, want) {
  const bad = [];
  let n = 0;
  for (const row of rows) {
    n++;
    const g = attempt(() => got(row)), w = attempt(() => want(row));
    if (inspect(g) !== inspect(w)) bad.push(`${inspect(row)}\n  got  ${inspect(g)}\n  want ${inspect(w)}`);
  }
  assert.equal(bad.length, 0, `${bad.length} of ${n} differ:\n${bad.slice(0, +process.env.SHOWN || 20).join('\n')}`);
}
function* product(...lists) {
  if (lists.length === 0) return yield [];
  for (const head of lists[0]) for (const tail of product(...lists.slice(1))) yield [head, ...tail];
}

// ---- URL ----

const hosts = [
  'example.com', 'EXAMPLE.com', 'a.b.c.', 'a..b', '.', '..', '', 'localhost', 'LOCALHOST', '%65xample.com', '%zz', 'a%00b', 'a b', 'a<b', 'a|b', 'a^b', 'a%5eb', 'a_b', 'a!b', "a'b",
  '127.0.0.1', '0x7f.1', '0X7F.1', '127.1', '2130706433', '017700000001', '0x', '0x.0x.0', '1.2.3', '1.2.3.4.', '1.2.3.4.5', '256.1.1.1', '1.256', '1.16777216', '1.16777215',
  '4294967295', '4294967296', '0xffffffff', '08', '09.1', '1.2.3.08', 'foo.1', 'foo.0x4', 'foo.0xg', 'a.1.', '1..2', '.1', '0..0x', '00000000000000000000000000000001', '0xFFFFFFFFFFFFFFFFFF',
  '[::1]', '[::]', '[1::8]', '[1:2:3:4:5:6:7:8]', '[1:2:3:4:5:6:7::]', '[::2:3:4:5:6:7:8]', '[1:0:0:2:0:0:0:3]', '[0:0:1:0:0:1:0:0]', '[::ffff:1.2.3.4]', '[::1.2.3.4]', '[1:2:3:4:5:6:1.2.3.4]',
  '[::1.2.3]', '[::1.2.3.4.5]', '[::01.2.3.4]', '[::256.1.1.1]', '[::1.]', '[1.2.3.4::]', '[12345::]', '[1:2:3:4:5:6:7:8:9]', '[1::2::3]', '[:1]', '[1:]', '[', '[]', '[::1', '::1]', '[::1%25eth0]',
  '[g::]', '[::1]a', 'a[::1]', '[FE80::ABCD]', '[0:0:0:0:0:0:0:0]', '[0::0:0]', '[1:0:0:0:0:0:0:0]', '[1:2:0:4:5:0:7:8]',
  'bücher.de', 'BÜCHER.de', 'ليهمابتكلموشعربي.eg', '他们为什么不说中文.cn', 'пример.рф', 'faß.de', 'ΑΣ.gr', 'βόλος.com', '日本語。jp', '日本語．jp', '日本語｡jp', 'ｅｘａｍｐｌｅ.com', '％41.com', '１２７.0.0.1',
  '☃.net', '💩.la', 'a\u00adb.com', 'a\u200bb', '\u0301a.com', 'e\u0301.com', 'é.com', 'ﬁ.com', 'Å.com', '①.com', 'a\u2028b', 'a\ufffdb', '%ef%bf%bd', '%F0%9F%92%A9.la', '%c3%bc.de', '%ff.de', 'ĳ.nl', 'İ.tr', 'xn--bcher-kva.de',
  'xn--', '0x7f.0.0.1%2e', '%31%32%37.1', 'a%2fb', 'a%40b', 'a%3ab', 'a%23b', 'a\\b', 'a\tb', 'a\nb', ' a', 'a ', '-a-', 'a--b', '*', '~', '$', '(a)', 'a,b', 'a;b', 'a=b', 'a+b', '"', '`', '{a}', 'a\x7fb',
];
const schemes = ['http:', 'https:', 'ws:', 'ftp:', 'file:', 'foo:', 'HTTP:', 'h-t+t.p1:'];
const paths = [
  '', '/', '//', '///', '/.', '/..', '/./', '/../', '/a/b/../c', '/a/./b', '/a/b/..', '/a/b/.', '/a/%2e/b', '/a/%2E%2e/b', '/a/.%2e', '/..a', '/...', '/a//..//b', '/%', '/%zz', '/%41', '/é', '/💩', '/\ud800', '/a b',
  '/a"b<c>d`e{f}g^h|i[j]k\\l', "/a'b", '/;p=1', '/a:b@c', '/C:/x', '/C|/x', '/C:', '/C|', '/C:/..', '/../C:/..', 'C:/a/../..', '/\0', '/\x7f', '/~', '/a\tb\nc', '\\a\\..\\b', 'x/y', './x', '../x', '.', '..',
];
const tails = ['', '?', '#', '?#', '?a=1', '?a b', "?'\"<>`é", '?%zz&%41', '?#?', '#a b`<>"é', '#\0\ud800', '?a#b#c', '#%41%zz'];

test('URL agrees with Node on every host, in special and other schemes', () => {
  const { global } = realm();
  const rows = [...product(['http://', 'https:', 'foo://', 'file://', 'ws:\\\\', 'http://u:p@', 'foo://u@', 'http:/'], hosts, ['', '/p?q#f', ':80', ':8080/', ':', ':65536', ':x', ':00443'])].map(r => r.join(''));
  const known = /xn--$/; // an empty Punycode label: Node's Unicode tables differ between versions
  same(rows.filter(r => !known.test(r)), s => seen(new global.URL(s)), s => seen(new URL(s)));
});

test('URL agrees with Node on every path and tail', () => {
  const { global } = realm();
  const rows = [...product(schemes, ['', '/', '//', '//h', '//h:81', '//u:p@h', '///', '////x'], paths, tails)].map(r => r.join(''));
  same(rows.filter(s => !behind(s)), s => seen(new global.URL(s)), s => seen(new URL(s)));
});

test('URL agrees with the standard where Node does not', () => {
  const { global } = realm();
  for (const [s, b, href, pathname] of standard) {
    const u = new global.URL(s, b);
    assert.deepEqual([u.href, u.pathname], [href, pathname], s);
  }
  for (const [s, b] of refused) assert.equal(global.URL.canParse(s, b), false, s);
});

test('URL resolves references as Node does', () => {
  const { global } = realm();
  const bases = ['http://u:p@h:8080/a/b/c?q#f', 'https://h', 'file:///C:/a/b', 'file://host/x/y', 'file:///', 'foo://h/a/b?q', 'foo:/a/b', 'foo:opaque?q', 'mailto:a@b', 'data:text/plain,x', 'about:blank', 'foo:///a', 'foo://h', 'bad', 'http://'];
  const refs = [
    ...[...product(paths, ['', '?x', '#y', '?', '#'])].map(r => r.join('')), '//other', '//other/p', '///other', '\\\\other\\p', '/\\other', '\\/other', '//', '//u@o:1/', 'http:', 'http:x', 'http:/x', 'http://x', 'https:x', 'file:', 'file:x', 'file:/x',
    'file://x/y', 'file:///C|/x', 'file:C|/x', 'C|', 'C|/', 'C|x', 'C:', 'C|?q', 'C|#f', '/C|/z', 'foo:', 'foo:x', 'foo:/x', 'foo://x', 'foo:///', 'FOO:x', 'javascript:alert(1)', 'data:,a b', 'data:,a #f', 'data:,a  ?q', 'data:  ', 'foo:a  #x',
    '  x  ', '\0x', 'h\nt\ttp://x', ':', ':x', '1:x', 'a:', '-a:b', 'http//x', '//[::1]/', '//[', '/..//x', '/.//x', '//.', 'foo:/.//p', 'foo:/..//p', 'foo:/a/..//p', 'web+x:/.//p', 'blob:https://a:443/b', 'blob:x', 'blob:file:///x', '?\u{1f600}', '#\u{1f600}',
    'http://@/', 'http://a@', 'http://a@/x', 'http://:@h', 'http://a:b@c:d@h/', 'http://a@b@h', 'foo://@h', 'foo://a:@h', 'foo://:b@h', 'http://h:', 'http://h:0', 'http://h:000080', 'http://h:65535', 'http://h:99999999999', 'http://h:8a', 'ws://h:80', 'wss://h:443', 'ftp://h:21', 'https://h:80', 'http://%', 'http://a?b@c', 'http://a#b@c', 'http://a/b@c', 'http://a\\b@c',
  ];
  const opaque = /^(foo:o|mailto|data|about)/, dots = /(\.|%2e){2}([?#]|$)/i;
  const rows = [...product(refs, [undefined, ...bases])].filter(([s, b]) =>
    !(opaque.test(b) && s.includes('#') && !s.startsWith('#')) && !(/^foo:\//.test(b) && dots.test(s)) && !behind(s) && !/^data:.* [?#]|^foo:a  #/.test(s));
  same(rows, ([s, b]) => seen(new global.URL(s, b)), ([s, b]) => seen(new URL(s, b)));
  same(rows, ([s, b]) => global.URL.canParse(s, b), ([s, b]) => URL.canParse(s, b));
});

test('the setters of URL do as Node does', () => {
  const { global } = realm();
  const urls = ['http://u:p@h:8080/a/b?q#f', 'https://h/', 'file:///C:/a', 'file://h/a', 'foo://h/a', 'foo://u@h:1', 'foo:/a', 'foo:opaque?q#f', 'mailto:x?q', 'data:x#f', 'foo:///p', 'foo:/.//p', 'ws://h:81'];
  const values = {
    protocol: ['https', 'https:', 'http:x', 'foo', 'file', 'ws', '', ':', '1a', 'h\tttp', 'HTTPS', 'ftp://x', 'é', 'a b'],
    username: ['', 'a', 'a:b@c/é', '%41', '\0'],
    password: ['', 'a', 'a:b@c/é', '%zz', ' '],
    host: ['', 'x', 'x:9', 'x:80', 'x:', ':9', 'x:9a', 'x:a', 'x:99999', 'x/y', 'x?y', 'x#y', 'x\\y', '[::1]', '[::1]:9', '[', '0x7f.1', 'a b', 'é', 'a@b', 'C:', 'localhost', 'x\ty', 'exa%6dple'],
    hostname: ['', 'x', 'x:9', ':9', 'x/y', 'x?y', 'x\\y', '[::1]', '[::1', '1.2.3', 'a b', 'é', 'a@b', 'C|', 'localhost', '[::1]:9'],
    port: ['', '9', '80', '443', '9a', 'a', '-1', '65536', '0', '00', '9/x', ' 9', '9 ', '\t9', '9\t', '1e3', '９', '9#', '\n'],
    pathname: ['', '/', 'a', '/a/../b', '?', '#', '/a?b#c', '\\x', '//x', '/./x', '/C|/', 'C|', '%2e%2e', 'é', '\0', ' a ', '/..//p', '..', '.'],
    search: ['', '?', '?a', 'a', "'", '#', '??', 'é', ' ', '%zz', 'a\nb', '\ud800'],
    hash: ['', '#', '#a', 'a', '`', '##', 'é', ' ', '?', 'a\nb', '\0'],
    href: ['', 'http://z', 'foo:x', 'bad', ' http://z ', '//x'],
  };
  const rows = Object.entries(values).flatMap(([p, list]) => [...product(urls, [p], list)]);
  const set = C => ([u, p, v]) => {
    u = new C(u);
    u[p] = v;
    return seen(u);
  };
  // Released Nodes lose the port when the host was empty, and take a lone newline for no port.
  same(rows.filter(([u, p, v]) => !(/^foo:/.test(u) && /^host/.test(p) && /^$|:9|:80/.test(v)) && v !== '\n' && !(/^foo:/.test(u) && /^(\.|%2e){2}$/.test(v))), set(global.URL), set(URL));
  for (const [u, p, v, href] of [['foo:/a', 'host', 'x:9', 'foo://x:9/a'], ['foo:///p', 'host', '[::1]:9', 'foo://[::1]:9/p'], ['foo:/a', 'hostname', '', 'foo:///a'], ['foo://h/a', 'host', ':9', 'foo://h/a'], ['http://h:81', 'port', '\n', 'http://h:81/']]) {
    const x = new global.URL(u);
    x[p] = v;
    assert.equal(x.href, href, `${u} ${p} ${v}`);
  }
});

test('URL is a class as the standard has it', () => {
  const { global, run } = realm();
  const u = new global.URL('http://h/?a=1');
  assert.equal(u.searchParams, u.searchParams);
  u.searchParams.append('b', 'é &');
  assert.equal(u.href, 'http://h/?a=1&b=%C3%A9+%26');
  u.search = '?c=2';
  assert.equal(`${u.searchParams}`, 'c=2');
  u.searchParams.delete('c');
  assert.equal(u.href, 'http://h/');
  u.href = 'http://z/?k=v';
  assert.equal(u.searchParams.get('k'), 'v');
  u.searchParams.set('k', 'w');
  assert.equal(u.href, 'http://z/?k=w');
  assert.equal(JSON.stringify({ u }), '{"u":"http://z/?k=w"}');
  assert.equal(Object.prototype.toString.call(u), '[object URL]');
  assert.equal(global.URL.parse('bad'), null);
  assert.equal(global.URL.parse('x', 'http://h/').href, 'http://h/x');
  assert.throws(() => new global.URL(), { name: 'TypeError' });
  assert.throws(() => new global.URL('bad'), { name: 'TypeError', message: 'Invalid URL', code: 'ERR_INVALID_URL', input: 'bad' });
  assert.throws(() => Reflect.get(global.URL.prototype, 'href', {}), { name: 'TypeError' });
  assert.equal(run('class Mine extends URL { get twice() { return this.href + this.href } } new Mine("a:b").twice'), 'a:ba:b');
});

test('random URLs agree with Node', () => {
  const { global } = realm();
  let seed = 7;
  const random = n => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) % n;
  const pieces = ['http', 'https', 'file', 'foo', ':', ':', '/', '/', '//', '\\', '?', '#', '@', '.', '..', '%2e', '%', '[', ']', '::', '1', '0x', '256', 'a', 'é', ' ', '\t', 'C|', 'C:', '|', '&', '=', '+', "'", '\u{1f600}', 'xyz', '~', '<', '-'];
  const make = () => Array.from({ length: 1 + random(9) }, () => pieces[random(pieces.length)]).join('');
  const rows = Array.from({ length: 30000 }, () => [random(2) ? make() : 'http://' + make(), [undefined, 'http://u@h:1/a/b?c', 'file:///C:/x', 'foo:o', 'foo://h/x'][random(5)]]);
  same(rows, ([s, b]) => seen(new global.URL(s, b)), ([s, b]) => seen(new URL(s, b)));
});

test('URLSearchParams does as Node does', () => {
  const { global } = realm();
  const inits = [
    undefined, '', '?', 'a=1&b=2', '?a=1', '??a', 'a', '=', '=a', 'a=', '&&a&&', 'a=b=c', 'a+b=c+d', '%', '%4', '%41', '%zz', '%C3%A9', '%ff', '%EF%BB%BFx', '\ufeffx', 'é=💩', '\ud800', 'a=\udc00%41', 'a&a=1&a=2', 'x=1;y=2', 'a b', '%00', '#a', "!'()*-._~", 'a%2Bb', '+', '%2b',
    [['a', '1'], ['a', '2']], [], { b: 1, a: 'é' }, { '\ud800': 1, '\ufffd': 2 }, new Map([['x', 'y']]), 5, true, ['ab', 'cd'],
  ];
  const steps = [
    p => [...p], p => `${p}`, p => p.size, p => p.get('a'), p => p.get('zz'), p => p.getAll('a'), p => p.has('a'), p => p.has('a', '1'), p => [...p.keys()], p => [...p.values()], p => [...p.entries()],
    p => (p.append('a', 'x y&é'), `${p}`), p => (p.set('a', 9), `${p}`), p => (p.set('new', 1), `${p}`), p => (p.delete('a'), `${p}`), p => (p.delete('a', '1'), `${p}`), p => (p.sort(), `${p}`),
    p => { const out = []; p.forEach(function (v, k, o) { out.push([k, v, o === p, this.x]); }, { x: 1 }); return out; },
    p => { const out = []; for (const [k] of p) { out.push(k); if (out.length < 4) p.append('z', out.length); } return out; },
    p => { p.append('ﬃ', 1); p.append('🌈', 2); p.append('é', 3); p.append('e\u0301', 4); p.append('a', 0); p.sort(); return `${p}`; },
  ];
  same([...product(inits, steps)], ([i, f]) => f(new global.URLSearchParams(i)), ([i, f]) => f(new URLSearchParams(i)));
  const bad = [[['a']], [['a', 'b', 'c']], [1], ['abc'], [null], Symbol('s'), { a: Symbol('s') }];
  for (const b of bad) assert.throws(() => new global.URLSearchParams(b), { name: 'TypeError' });
  for (const f of ['append', 'delete', 'get', 'getAll', 'has', 'set']) assert.throws(() => new global.URLSearchParams()[f](), { name: 'TypeError' });
});

// ---- text ----

test('TextEncoder does as Node does', () => {
  const { global } = realm();
  const texts = [undefined, '', 'abc', 'é', '€', '💩', '\ud800', '\udc00x', 'a\ud83d', 'x💩y\ud800', null, 5, 'é'.repeat(50)];
  same(texts, t => Array.from(new global.TextEncoder().encode(t)), t => Array.from(new TextEncoder().encode(t)));
  const into = (C, t, n) => {
    const b = new Uint8Array(n);
    const r = new C().encodeInto(t, b);
    return [r.read, r.written, Array.from(b)];
  };
  same([...product(texts.slice(1).map(t => `${t}`), [0, 1, 2, 3, 4, 5, 6, 7, 9, 200])], ([t, n]) => into(global.TextEncoder, t, n), ([t, n]) => into(TextEncoder, t, n));
  assert.equal(new global.TextEncoder().encoding, 'utf-8');
  for (const bad of [[], new ArrayBuffer(3), new Int8Array(3), new DataView(new ArrayBuffer(1)), null]) {
    assert.throws(() => new global.TextEncoder().encodeInto('x', bad), { name: 'TypeError' });
  }
});

test('TextDecoder decodes in pieces as Node does in one', () => {
  const { global } = realm();
  let seed = 3;
  const random = n => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) % n;
  const bytes = [0x41, 0x7f, 0x80, 0xbf, 0xc0, 0xc2, 0xc3, 0xa9, 0xe0, 0xa0, 0x9f, 0xed, 0xe2, 0x82, 0xac, 0xef, 0xbb, 0xbf, 0xf0, 0x90, 0x8f, 0xf4, 0xf5, 0xff, 0xd8, 0xdc, 0x3d, 0, 0xfe];
  const good = [...Buffer.from('\ufeffé€💩x')];
  for (let n = 0; n < 20000; n++) {
    const label = random(2) ? 'utf-8' : 'utf-16le', options = { fatal: !random(4), ignoreBOM: !random(3) };
    const data = [];
    for (let k = random(5); k >= 0; k--) {
      if (random(3)) data.push(bytes[random(bytes.length)]);
      else if (label === 'utf-8') data.push(...good.slice(random(good.length)));
      else data.push(...Buffer.from('\ufeffé\ud83d\udca9', 'utf16le'));
    }
    const all = Uint8Array.from(data);
    const want = attempt(() => new TextDecoder(label, options).decode(all));
    const got = attempt(() => {
      const d = new global.TextDecoder(label, options);
      let out = '', i = 0;
      while (i < all.length) {
        const k = 1 + random(4);
        out += d.decode(all.subarray(i, i + k), { stream: true });
        i += k;
      }
      return out + d.decode();
    });
    assert.equal(got, want, `${label} ${inspect(options)} ${inspect(data)}`);
    assert.equal(attempt(() => new global.TextDecoder(label, options).decode(all)), want);
  }
});

test('TextDecoder knows its labels and options', () => {
  const { global } = realm();
  for (const label of ['utf8', ' UTF-8\n', 'unicode-1-1-utf-8', 'utf-16', 'ucs-2', 'UTF-16LE', 'latin1', 'ascii', 'iso-8859-1', 'windows-1252', 'l1']) {
    assert.equal(new global.TextDecoder(label).encoding, new TextDecoder(label).encoding, label);
  }
  for (const label of ['utf-7', '', 'x', '\vutf-8', 'utf-8\0', 'utf-16be', '__proto__', 'constructor', null]) {
    assert.throws(() => new global.TextDecoder(label), { name: 'RangeError' }, label);
  }
  const all = Uint8Array.from({ length: 256 }, (_, i) => i);
  const text = new global.TextDecoder('latin1').decode(all);
  assert.equal(text.slice(0, 128), String.fromCharCode(...all.slice(0, 128)));
  assert.equal(text.slice(128, 160), '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ');
  assert.equal(text.slice(160), String.fromCharCode(...all.slice(160)));
  const d = new global.TextDecoder('utf8', { fatal: true, ignoreBOM: true });
  assert.deepEqual([d.fatal, d.ignoreBOM], [true, true]);
  assert.throws(() => d.decode(Uint8Array.of(0xff)), { name: 'TypeError' });
  assert.equal(d.decode(Uint8Array.of(65)), 'A');
  assert.equal(d.decode(), '');
  assert.equal(d.decode(Uint8Array.of(1, 65, 66).buffer), '\x01AB');
  assert.equal(d.decode(new DataView(Uint8Array.of(1, 65, 66).buffer, 1, 1)), 'A');
  assert.equal(d.decode(new Uint16Array([0x4241])), 'AB');
  for (const bad of ['x', 5, null, {}, []]) assert.throws(() => d.decode(bad), { name: 'TypeError' });
  assert.equal(new global.TextDecoder().decode(new Uint8Array(100000).fill(65)).length, 100000);
  assert.equal(new global.TextDecoder('utf-16le').decode(new Uint8Array(100000).fill(65)), '\u4141'.repeat(50000));
});

// ---- structuredClone ----

const cloneable = [
  '1', '"x"', 'null', 'undefined', '-0', 'NaN', '10n', '[]', '[1,,3]', '[,]', 'new Array(5)', 'Object.assign([1,2],{x:1})', '({})', '({a:{b:[1,{c:2}]}})', '({["__proto__"]: 1, a: 2})', 'Object.create({a:1},{b:{value:2,enumerable:true},c:{value:3}})',
  'Object.create(null)', '({[Symbol("s")]: 1, a: 1})', '({get a() { return 5 }})', 'new (class Foo { x = 1 })()', 'new Map([[1,2],[{a:1},new Map()]])', 'new Set([1,"a",{b:1},new Set([2])])', 'new Date(5)', 'new Date(NaN)', '/a+/giu', '/x/y', 'Object(5)', 'Object("str")', 'Object(true)', 'Object(5n)',
  'new ArrayBuffer(3)', 'Uint8Array.of(1,2,3).buffer', 'Uint8Array.of(1,2,3)', 'new Uint8Array(Uint8Array.of(1,2,3,4).buffer, 1, 2)', 'new Float64Array([1.5,-0])', 'new BigInt64Array([1n,-1n])', 'new Uint8ClampedArray([1])', 'new DataView(Uint8Array.of(1,2,3).buffer, 1, 1)',
  '(() => { const b = new ArrayBuffer(8); return [new Uint8Array(b), new Int16Array(b, 2), b] })()', '(() => { const a = {}; a.a = a; a.l = [a, a]; return a })()', '(() => { const a = []; a[0] = a; return a })()', '(() => { const m = new Map(); m.set(m, m); return m })()', '(() => { const o = {}; return [o, o] })()',
  '[undefined, null]', '({a: undefined})', 'new (class extends Array {})(3)', 'new (class extends Map {})([[1,2]])', '({length: 3, 0: 1})', '({2: "b", 1: "a", x: 1})', '"\\ud800"', 'Array(3).fill().map((_, i) => i)',
];
const uncloneable = [
  '() => 1', 'function f() {}', 'class A {}', 'Symbol("x")', '({a: Symbol()})', '[() => 1]', 'new WeakMap()', 'new WeakSet()', 'new WeakRef({})', 'Promise.resolve(1)', 'new Proxy({}, {})', 'new Proxy([], {})', '({a: [{b: Math.max}]})', 'new Map([[1, () => 1]])', 'new Map([[() => 1, 1]])',
  'new Set([Symbol()])', 'Object(Symbol())', '(function () { return arguments })()', '(function* () {})()', 'new Proxy(() => 1, {})', '(() => { const e = new Error(); e.cause = () => 1; return e })()',
];

test('structuredClone copies what Node copies', () => {
  const { run, global } = realm();
  const shown = v => inspect(v, { depth: 20, showHidden: false });
  same(cloneable, s => shown(run(`structuredClone(${s})`)), s => shown(structuredClone(eval(`(${s})`))));
  const rows = cloneable.filter(s => !/buffer|Buffer/.test(s));
  same(rows, s => run(`Object.prototype.toString.call(structuredClone(${s}))`), s => Object.prototype.toString.call(structuredClone(eval(`(${s})`))));
  assert.equal(run('Object.getPrototypeOf(structuredClone({})) === Object.prototype'), true);
  assert.equal(run('Object.getPrototypeOf(structuredClone([])) === Array.prototype'), true);
  assert.equal(run('const o = {a: 1}, c = structuredClone(o); c.a = 2; o.a'), 1);
  assert.equal(run('const d = structuredClone({m: new Map([["k", o]]), o}); d.m.get("k") === d.o'), true);
  assert.equal(run('Object.isFrozen(structuredClone(Object.freeze({a: 1})))'), false);
  assert.throws(() => global.structuredClone(), { name: 'TypeError' });
  assert.throws(() => run('structuredClone({get a() { throw new RangeError("mine") }})'), { name: 'RangeError', message: 'mine' });
});

test('structuredClone refuses what cannot be copied', () => {
  const { run } = realm();
  for (const s of uncloneable) assert.throws(() => run(`structuredClone(${s})`), { name: 'DataCloneError', code: 25 }, s);
});

test('structuredClone copies errors whole', () => {
  const { run } = realm();
  for (const C of ['Error', 'TypeError', 'RangeError', 'SyntaxError', 'ReferenceError', 'EvalError', 'URIError']) {
    assert.deepEqual(run(`{ const e = new ${C}('m', {cause: {a: [1]}}), c = structuredClone(e);
      [c !== e, Object.getPrototypeOf(c) === ${C}.prototype, c.name, c.message, c.stack === e.stack, JSON.stringify(c.cause), Object.keys(c).length].join() }`), `true,true,${C},m,true,{"a":[1]},0`);
  }
  assert.equal(run('class Mine extends Error { name = "Mine" }; Object.getPrototypeOf(structuredClone(new Mine("x"))) === Error.prototype'), true);
  assert.equal(run('{ const e = new Error("x"); e.cause = e; const c = structuredClone(e); c.cause === c }'), true);
  assert.equal(run('structuredClone(new DOMException("m", "AbortError")).name'), 'AbortError');
});

test('structuredClone moves the buffers of transfer', () => {
  const { run } = realm();
  assert.equal(run(`{ const b = Uint8Array.of(1, 2, 3).buffer, c = structuredClone({v: new Uint8Array(b)}, {transfer: [b]}); [b.byteLength, c.v.join('')].join() }`), '0,123');
  assert.equal(run(`{ const b = new ArrayBuffer(3); structuredClone(1, {transfer: [b]}); b.byteLength }`), 0);
  assert.equal(run(`{ const b = new ArrayBuffer(3); try { structuredClone(() => 1, {transfer: [b]}) } catch {} b.byteLength }`), 3);
  for (const t of ['[1]', '[{}]', '[new Uint8Array(1)]', '(() => { const b = new ArrayBuffer(1); return [b, b] })()', '(() => { const b = new ArrayBuffer(1); b.transfer(); return [b] })()']) {
    assert.throws(() => run(`structuredClone(1, {transfer: ${t}})`), { name: 'DataCloneError' }, t);
  }
  assert.throws(() => run('const gone = new ArrayBuffer(1); gone.transfer(); structuredClone(gone)'), { name: 'DataCloneError' });
  assert.equal(run('structuredClone(new ArrayBuffer(2, {maxByteLength: 8})).maxByteLength'), run('new ArrayBuffer(2, {maxByteLength: 8}).maxByteLength'));
});

// ---- console ----

const values = [
  '1', '-0', 'NaN', '1n', 'true', 'null', 'undefined', 'Symbol("s")', 'Symbol()', '["a"]', '["it\'s"]', '["\\"it\'s\\""]', '["`\\"it\'s\\""]', '["a\\nb\\t\\x00\\x1b\\\\\\x7f\\ud800"]', '["💩é"]', '[]', '[[]]', '[1,2,3]', '[,]', '[1,,,4]', '[undefined,,null]', '({})', '({a:1})', '({a:1,"b-c":2,3:4,[Symbol("k")]:5})', '({["__proto__"]:1})',
  '({a:{b:{c:{}}}})', '({a:{b:{c:{d:1}}}})', '({a:{b:{c:{d:{e:1}}}}})', '({a:{b:{c:{d:{e:{f:1}}}}}})', '({a:{b:{c:{d:{e:[]}}}}})', '({a:{b:{c:{d:{e:[1]}}}}})', '[[[[[[1]]]]]]', '[[[[[[]]]]]]', '({a:"x".repeat(60),b:"y".repeat(30)})', '({a:1,b:"two",c:[1,2,3],d:{e:null}})',
  '({name:"Alice",tags:["a","b"],nested:{list:[{x:1},{x:2}],when:new Date(0)}})', 'Object.assign([1,2],{x:1})', 'new Map()', 'new Map([[1,2],["a",{b:1}]])', 'new Map([[{a:1},new Set([1])]])', 'new Set()', 'new Set([1,"a",[2]])', 'new Date(0)', 'new Date(NaN)', '/a\\/b/gi',
  'Object(1)', 'Object("ab")', 'Object(true)', 'Object(1n)', 'Object(Symbol("x"))', 'Object(-0)', '() => 1', 'function f() {}', '(function () {})', 'async function g() {}', 'function* h() {}', 'async function* i() {}', 'class A {}', '(class {})', 'class B extends Map {}', 'Math.max', 'Object.assign(function f() {}, {a:1})', 'Object.assign(() => 1, {b:2})',
  'new (class Foo {})()', 'new (class Foo { x = 1 })()', 'new (class Foo { #x = 1 })()', 'new (class extends Array {})(1,2)', 'new (class Foo extends Map {})([[1,2]])', 'new (class Foo extends Set {})([1])', 'Object.create(null)', 'Object.assign(Object.create(null),{a:1})', 'Object.create({a:1})',
  '({get a() { throw 1 }})', '({set a(v) {}})', '({get a() { return 1 }, set a(v) {}})', '[new (class { get x() { throw 1 } })()]', '({[Symbol.toStringTag]:"T"})', 'Object.create({}, {[Symbol.toStringTag]:{value:"Tag"}})', 'new (class Foo { static { Object.defineProperty(this.prototype, Symbol.toStringTag, {value: "bar"}) } })()', 'Math', 'JSON', 'Reflect',
  'new Uint8Array(3)', 'new Uint8Array(0)', 'new Float64Array([1.5,-0])', 'new BigInt64Array([1n])', 'new ArrayBuffer(2)', 'new DataView(new ArrayBuffer(1))', 'new WeakMap()', 'new WeakSet()', '(function* () {})()',
  '(() => { const a = {}; a.a = a; return a })()', '(() => { const a = {x: {}}; a.x.y = a.x; a.b = [a]; return a })()', '(() => { const a = [1]; a.push(a); return a })()', '(() => { const m = new Map(); m.set("m", m); return m })()', '(() => { const o = {}; return [o, o] })()', '"x".repeat(3)', '["x".repeat(10005)]', '({a:["x".repeat(10001)]})',
  'Object.defineProperty({}, "hidden", {value: 1})', '({f() {}, g: () => 1, h: class Q {}})', '({a: new Map([["k", {v: [1, 2, {w: new Set(["deep"])}]}]])})', '[[1,2],[3,4]]', '[{a:1,b:2},{a:3,b:4}]', '({a:[{b:{c:[1,2]}}]})', '[null,undefined]', '({undefined:undefined})', '[0.1,1e21,-5]', '({"":1})', '({a$:1, _b:2})', 'Object.freeze([1])',
];
test('console prints values as util.inspect does', () => {
  const { run, global, lines } = realm();
  const rows = values.filter(v => v !== '"x".repeat(3)');
  same(rows, s => {
    lines.length = 0;
    global.console.log(run(`(${s})`));
    return lines[0][1];
  }, s => inspect(vm.runInNewContext(`(${s})`), { depth: 4, breakLength: 80, compact: 3 }));
});

test('console prints formats as Node does, one line per call', async () => {
  const { logged } = realm();
  const { formatWithOptions } = await import('node:util');
  const rows = [
    [], [''], ['a', 'b'], ['%s', 'x'], ['%s %s', 'x'], ['%s', 'x', 'y'], ['%d %i %f', '42.5', '42.5', '42.5'], ['%d', 1n], ['%i', 3.9], ['%d', 'x'], ['%s', -0], ['%s', 5n], ['%s', Symbol('q')], ['%s', null], ['%s', undefined], ['%%', 1], ['%%'], ['100%', 1], ['%', 1], ['a%'], ['%x', 1], ['%c styled', 'color: red'],
    ['%j', { a: [1] }], ['%j', 'x'], ['%j', undefined], ['%O', { a: { b: 1 } }], ['%%%s%%', 'x'], [1, '%s', 'x'], ['%s%s%s', 1, 2, 3, 4], ['a', { b: 1 }, [2]], [{ a: 1 }, 'b'], ['%s', true], ['%d%%', 50], ['%5d', 1], ['%s', ''], [null, undefined, true], ['%f', 'x'], ['%i', 'x'], ['%d', ''],
  ];
  same(rows, r => logged(...r), r => formatWithOptions({ depth: 4 }, ...r));
});

test('console shows errors with their stacks, causes and properties', () => {
  const { run, logged } = realm();
  assert.match(logged(run('new TypeError("boo")')), /^TypeError: boo\n    at /);
  assert.match(logged(run('new ToolError("no", {server: "s"})')), /^ToolError: no\n    at [^]*\{\n  server: 's'\n\}$/);
  const text = logged(run('new Error("outer", {cause: new Error("inner")})'));
  assert.match(text, /^Error: outer\n    at [^]*\[cause\]: Error: inner\n      +at /);
  assert.match(logged(run('new AggregateError([new Error("one"), 2], "many")')), /AggregateError: many\n[^]*\[errors\]: \[\n    Error: one/);
  assert.equal(logged(run('{ const e = new Error("bare"); e.stack = undefined; e }')), '[Error: bare]');
  assert.equal(logged(run('{ const e = new Error("bare"); Object.defineProperty(e, "stack", {get() { throw 1 }}); e }')), '[Error: bare]');
  assert.equal(logged(run('{ const e = new Error(); e.stack; Object.defineProperty(e, "message", {get() { throw 1 }}); Object.defineProperty(e, "stack", {value: 7}); e.name = {}; e }')), '[Error] { name: {} }');
  // An engine whose stack is only frames gets the message put before them.
  assert.equal(logged(run('{ const e = new RangeError("m"); e.stack = "    at f (program.js:1:1)\\n"; e }')), 'RangeError: m\n    at f (program.js:1:1)');
  assert.match(logged(new DOMException('m', 'AbortError')), /^AbortError: m\n    at /);
});

test('console shows promises, proxies and its own classes', () => {
  const { run, logged, settled } = realm();
  const p = run('globalThis.done = Promise.resolve({a: 1})');
  settled.set(p, [1, run('({a: 1})')]);
  assert.equal(logged(p), 'Promise { { a: 1 } }');
  const q = run('globalThis.failed = Promise.reject(3); failed.catch(() => {}); failed');
  settled.set(q, [2, 3]);
  assert.equal(logged(q), 'Promise { <rejected> 3 }');
  const hostile = '(() => { const h = new Proxy({}, {get() { throw new Error("trapped") }}); return new Proxy({}, h) })()';
  assert.equal(logged(run(hostile)), '[Proxy]');
  assert.equal(logged(run(`[${hostile}, {a: ${hostile}}]`)), '[ [Proxy], { a: [Proxy] } ]');
  assert.equal(logged(run(`Object.create(${hostile})`)), '{}');
  assert.equal(logged(run(`Object.create({constructor: ${hostile}})`)), '{}');
  assert.equal(logged(run(`{ const e = new Error("x"); e.stack = ""; Object.setPrototypeOf(e, ${hostile}); e }`)), '[Error: x]');
  assert.equal(logged(run(`{ const f = function g() {}; Object.setPrototypeOf(f, ${hostile}); f }`)), '[Function: g]');
  assert.equal(logged(run(`new Map([[1, ${hostile}]])`)), 'Map(1) { 1 => [Proxy] }');
  assert.equal(logged(run('new URL("http://h/?a=1")')), "URL { href: 'http://h/?a=1' }");
  assert.equal(logged(run('new URLSearchParams("a=1&b=2")')), "URLSearchParams { 'a' => '1', 'b' => '2' }");
  assert.equal(logged(run('new TextDecoder()')), 'TextDecoder {}');
  assert.equal(logged(run('{ const b = new ArrayBuffer(4), l = [b, new DataView(b), new Uint8Array(b)]; b.transfer(); l }')),
    '[\n  ArrayBuffer { (detached) },\n  DataView { (detached) },\n  Uint8Array(0) []\n]');
  assert.equal(logged(run('new Promise(() => {})')), 'Promise { <pending> }');
  assert.equal(logged(run('(function () { return arguments })(1, "a")')), "[Arguments] [ 1, 'a' ]");
  assert.match(logged(run('new ArrayBuffer(100)')), /^ArrayBuffer \{\n  \[Uint8Contents\]: <(00 ){50}... 50 more bytes>,\n  byteLength: 100\n\}$/);
  assert.equal(logged(run('Array.from({length: 30}, (_, i) => i)')), '[\n  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,\n  22, 23, 24, 25, 26, 27, 28, 29\n]');
});

test('console has its other methods', () => {
  const { global, lines, run } = realm();
  const { console } = global;
  const got = f => {
    lines.length = 0;
    f(console);
    return lines.map(l => l.join(': '));
  };
  assert.deepEqual(got(c => { c.log(1); c.info(2); c.warn(3); c.error(4); c.debug(5); }), ['log: 1', 'info: 2', 'warn: 3', 'error: 4', 'debug: 5']);
  assert.deepEqual(got(c => { c.group('g'); c.log('a\nb'); c.group(); c.log('c'); c.groupEnd(); c.groupEnd(); c.groupEnd(); c.log('d'); }), ['log: g', 'log:   a\n  b', 'log:     c', 'log: d']);
  assert.deepEqual(got(c => { c.count(); c.count('x'); c.count(); c.countReset(); c.count(); }), ['log: default: 1', 'log: x: 1', 'log: default: 2', 'log: default: 1']);
  assert.deepEqual(got(c => { c.assert(true, 'no'); c.assert(false); c.assert(0, 'why %s', 'x'); c.assert(null, { a: 1 }); }), ['error: Assertion failed', 'error: Assertion failed: why x', 'error: Assertion failed { a: 1 }']);
  assert.match(got(c => { c.time('t'); c.timeLog('t', 'x'); c.timeEnd('t'); c.timeEnd('t'); }).join('|'), /^log: t: \d+ms x\|log: t: \d+ms\|warn: no timer 't'/);
  assert.match(got(c => c.trace('here'))[0], /^log: Trace: here\n[^]*at /);
  assert.deepEqual(got(c => c.dir({ a: { b: { c: 1 } } }, { depth: 0 })), ['log: { a: [Object] }']);
  assert.deepEqual(got(c => c.dir([[[[[[[1]]]]]]], { depth: null })), ['log: [\n  [\n    [\n      [\n        [ [ [ 1 ] ] ]\n      ]\n    ]\n  ]\n]']);
  assert.deepEqual(got(c => c.table(run('[{a: 1, b: "x"}, {a: 22, c: [1]}, 5]'))), [[
    'log: (index) | a  | b   | c     | Values', '--------|----|-----|-------|-------', "0       | 1  | 'x' |       |       ", '1       | 22 |     | [ 1 ] |       ', '2       |    |     |       | 5     '].join('\n')]);
  assert.deepEqual(got(c => c.table(run('new Map([["k", {v: 1}]])'))), ['log: (index) | v\n--------|--\n\'k\'     | 1']);
  assert.deepEqual(got(c => c.table(run('[{a: 1, b: 2}]'), ['b'])), ['log: (index) | b\n--------|--\n0       | 2']);
  assert.deepEqual(got(c => c.table(5)), ['log: 5']);
  assert.deepEqual(got(c => { const { log } = c; log('free'); }), ['log: free']);
  assert.equal(Object.prototype.toString.call(console), '[object console]');
});

test('console is bounded in output and in work', () => {
  const { run, used, lines, global, logged } = realm();
  const cheap = (name, s, calls) => {
    const v = run(s);
    for (const k in used) delete used[k];
    const text = logged(v);
    const n = (used.getOwn ?? 0) + (used.ownKeys ?? 0) + (used.inspectKind ?? 0);
    assert.ok(text.length <= 66000, `${name}: ${text.length} characters`);
    assert.ok(n <= calls, `${name}: ${n} native calls`);
    return text;
  };
  assert.match(cheap('a string', '"x".repeat(5e6)', 10), /4934464 more characters$/);
  assert.match(cheap('a long array', 'Array.from({length: 1e6}, (_, i) => i)', 1000), /999900 more items\n\]$/);
  assert.match(cheap('a sparse array', '{ const a = []; a[4294967294] = 1; a[7] = 2; a }', 100), /^\[ <7 empty items>, 2, <4294967286 empty items>, 1 \]$/);
  assert.match(cheap('many keys', 'Object.fromEntries(Array.from({length: 2e5}, (_, i) => ["k" + i, i]))', 60000), /more keys/);
  cheap('a wide tree', '{ let v = 1; for (let i = 0; i < 6; i++) v = Array(100).fill(v); v }', 200000);
  cheap('a wide tree of objects', '{ let v = 1; for (let i = 0; i < 6; i++) v = Object.fromEntries(Array.from({length: 100}, (_, i) => ["key" + i, v])); v }', 200000);
  cheap('a deep tree', '{ let v = 1; for (let i = 0; i < 1e5; i++) v = [v]; v }', 300);
  cheap('a long chain of prototypes', '{ let v = Object.create(null); for (let i = 0; i < 1e4; i++) v = Object.create(v); v }', 1000);
  cheap('a large Map', 'new Map(Array.from({length: 1e5}, (_, i) => [i, i]))', 1000);
  cheap('a large Set', 'new Set(Array.from({length: 1e5}, (_, i) => i))', 1000);
  cheap('a large buffer', 'new ArrayBuffer(1e7)', 100);
  cheap('a large typed array', 'new Float64Array(1e6)', 100);
  cheap('a large BigInt', '[2n ** 1000000n]', 100);
  cheap('strings in strings', 'Array(100).fill("\\x00".repeat(1e5))', 1000);
  cheap('long names', '({["x".repeat(1e6)]: 1, [Symbol("y".repeat(1e6))]: 2, z: new (class { static { Object.defineProperty(this, "name", {value: "z".repeat(1e6)}) } })()})', 1000);
  cheap('a long error', '{ const e = new Error("m".repeat(1e6)); e.name = "n".repeat(1e6); [e, e] }', 1000);
  lines.length = 0;
  for (let i = 0; i < 1000; i++) global.console.group();
  global.console.log('\n'.repeat(1e6));
  assert.ok(lines[0][1].length <= 66000);
  global.console.table(run('Array.from({length: 1e4}, (_, i) => Object.fromEntries(Array.from({length: 50}, (_, j) => ["c" + i + j, "x".repeat(1000)])))'));
  assert.ok(lines[1][1].length <= 66000);
  global.console.log(...Array(1e4).fill('%s'.repeat(1000)));
  assert.ok(lines[2][1].length <= 66000);
});

// ---- crypto, events, errors, numbers ----

test('crypto makes UUIDs and fills arrays of integers', () => {
  const { global, run } = realm();
  const ids = new Set(Array.from({ length: 100 }, () => global.crypto.randomUUID()));
  assert.equal(ids.size, 100);
  for (const id of ids) assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  for (const C of ['Int8Array', 'Uint8Array', 'Uint8ClampedArray', 'Int16Array', 'Uint32Array', 'BigInt64Array', 'BigUint64Array']) {
    assert.equal(run(`{ const a = new ${C}(64); crypto.getRandomValues(a) === a && a.some(x => x != 0) }`), true, C);
  }
  assert.deepEqual(Array.from(run('{ const b = new Uint8Array(64); crypto.getRandomValues(b.subarray(32)); b }').slice(0, 32)), Array(32).fill(0));
  for (const bad of ['new Float64Array(1)', 'new DataView(new ArrayBuffer(1))', 'new ArrayBuffer(1)', '[]', 'undefined']) {
    assert.throws(() => run(`crypto.getRandomValues(${bad})`), { name: 'TypeMismatchError' }, bad);
  }
  assert.throws(() => run('crypto.getRandomValues(new Uint8Array(65537))'), { name: 'QuotaExceededError' });
  assert.deepEqual(Object.keys(global.crypto), ['randomUUID', 'getRandomValues']);
});

test('events reach their listeners', () => {
  const { run, lines } = realm();
  const story = (name, code, want) => assert.equal(run(`(() => { const out = [], t = new EventTarget(); ${code}; return out.join(' ') })()`), want, name);
  story('in order, once each', 't.addEventListener("x", () => out.push(1)); t.addEventListener("x", () => out.push(2)); t.dispatchEvent(new Event("x")); t.dispatchEvent(new Event("y"))', '1 2');
  story('the same listener is kept once', 'const f = () => out.push(1); t.addEventListener("x", f); t.addEventListener("x", f); t.dispatchEvent(new Event("x"))', '1');
  story('capture makes another', 'const f = () => out.push(1); t.addEventListener("x", f); t.addEventListener("x", f, true); t.removeEventListener("x", f, {capture: true}); t.dispatchEvent(new Event("x"))', '1');
  story('once', 't.addEventListener("x", () => out.push(1), {once: true}); t.dispatchEvent(new Event("x")); t.dispatchEvent(new Event("x"))', '1');
  story('removed while dispatching', 'const g = () => out.push(2); t.addEventListener("x", () => { out.push(1); t.removeEventListener("x", g) }); t.addEventListener("x", g); t.dispatchEvent(new Event("x"))', '1');
  story('added while dispatching', 't.addEventListener("x", () => { out.push(1); t.addEventListener("x", () => out.push(2)) }); t.dispatchEvent(new Event("x"))', '1');
  story('stopped', 't.addEventListener("x", e => { out.push(1); e.stopImmediatePropagation() }); t.addEventListener("x", () => out.push(2)); t.dispatchEvent(new Event("x"))', '1');
  story('prevented', 't.addEventListener("x", e => e.preventDefault()); out.push(t.dispatchEvent(new Event("x")), t.dispatchEvent(new Event("x", {cancelable: true})))', 'true false');
  story('passive cannot prevent', 't.addEventListener("x", e => e.preventDefault(), {passive: true}); out.push(t.dispatchEvent(new Event("x", {cancelable: true})))', 'true');
  story('handleEvent', 't.addEventListener("x", {handleEvent(e) { out.push(this.n, e.target === t, e.currentTarget === t) }, n: 7}); const e = new Event("x"); t.dispatchEvent(e); out.push(e.currentTarget)', '7 true true ');
  story('a signal removes', 'const c = new AbortController(); t.addEventListener("x", () => out.push(1), {signal: c.signal}); t.dispatchEvent(new Event("x")); c.abort(); t.dispatchEvent(new Event("x"))', '1');
  story('null is no listener', 't.addEventListener("x", null); t.dispatchEvent(new Event("x"))', '');
  story('no second dispatch within', 't.addEventListener("x", e => { try { t.dispatchEvent(e) } catch (x) { out.push(x.name) } }); t.dispatchEvent(new Event("x"))', 'InvalidStateError');
  story('classes of the program', 'class T extends EventTarget {}; const u = new T(); u.addEventListener("x", function (e) { out.push(this === u, e instanceof Event) }); u.dispatchEvent(new (class extends Event {})("x"))', 'true true');
  lines.length = 0;
  story('one that throws does not stop the others', 't.addEventListener("x", () => { throw new Error("mine") }); t.addEventListener("x", () => out.push(2)); t.dispatchEvent(new Event("x"))', '2');
  assert.match(lines[0][1], /^Uncaught in a listener of 'x': Error: mine/);
  assert.throws(() => run('new Event()'), { name: 'TypeError' });
  assert.throws(() => run('new EventTarget().addEventListener("x", 5)'), { name: 'TypeError' });
  assert.throws(() => run('new EventTarget().dispatchEvent({type: "x"})'), { name: 'TypeError' });
});

test('abort signals carry their reason', () => {
  const timers = [];
  const { run } = realm({ setTimeout: (f, ms) => timers.push([f, ms]) });
  const story = (name, code, want) => assert.equal(run(`(() => { const out = [], c = new AbortController(), s = c.signal; ${code}; return out.join(' ') })()`), want, name);
  story('not yet', 'out.push(s.aborted, s.reason, s.throwIfAborted())', 'false  ');
  story('a reason of its own', 'c.abort(); out.push(s.aborted, s.reason.name, s.reason.code)', 'true AbortError 20');
  story('a reason given', 's.addEventListener("abort", e => out.push(e.type, e.target === s)); c.abort("why"); c.abort("again"); out.push(s.reason); try { s.throwIfAborted() } catch (e) { out.push(e) }', 'abort true why why');
  story('onabort', 's.onabort = () => out.push(1); s.onabort = () => out.push(2); c.abort(); out.push(typeof s.onabort)', '2 function');
  story('onabort taken back', 's.onabort = () => out.push(1); s.onabort = null; c.abort(); out.push(s.onabort)', '');
  story('AbortSignal.abort', 'out.push(AbortSignal.abort().aborted, AbortSignal.abort(5).reason)', 'true 5');
  story('any follows', 'const d = new AbortController(), a = AbortSignal.any([s, d.signal]); a.onabort = () => out.push("a"); d.abort("d"); out.push(a.reason); c.abort("c"); out.push(a.reason)', 'a d d');
  story('any of one aborted', 'out.push(AbortSignal.any([s, AbortSignal.abort(3)]).reason, AbortSignal.any([]).aborted)', '3 false');
  story('any of any', 'const a = AbortSignal.any([AbortSignal.any([s])]); c.abort(8); out.push(a.reason)', '8');
  assert.throws(() => run('new AbortSignal()'), { name: 'TypeError' });
  assert.throws(() => run('AbortSignal.any([{}])'), { name: 'TypeError' });
  run('globalThis.late = AbortSignal.timeout(50)');
  assert.equal(timers[0][1], 50);
  assert.equal(run('late.aborted'), false);
  timers[0][0]();
  assert.equal(run('late.reason.name'), 'TimeoutError');
  assert.throws(() => realm().run('AbortSignal.timeout(1)'), /setTimeout/);
});

test('the error classes carry their properties', () => {
  const { run, result, global } = realm();
  assert.deepEqual(Object.keys(result.errors), ['ToolCallDeniedError', 'ToolNotFoundError', 'InvalidArgumentsError', 'InvalidResultError', 'ToolError', 'UpstreamError', 'LimitError']);
  assert.equal(new result.errors.LimitError('m') instanceof result.errors.ToolCallDeniedError, true);
  for (const [name, C] of Object.entries(result.errors)) {
    assert.equal(global[name], C);
    const e = new C('m', { toolName: 't', reason: 'denied', retryable: false });
    assert.equal(`${e}`, `${name}: m`);
    assert.deepEqual([C.name, e.name, e.message, e.toolName, e.reason, e.retryable], [name, name, 'm', 't', 'denied', false]);
    assert.equal(run(`e => e instanceof ${name} && e instanceof Error`)(e), true);
    assert.deepEqual(Object.keys(e), ['toolName', 'reason', 'retryable']);
    assert.equal(typeof e.stack, 'string');
    assert.equal(new C().message, '');
  }
  const own = Object.defineProperty({ ['__proto__']: 1, name: 'x' }, 'getter', { get() { throw 1; }, enumerable: true });
  assert.equal(Object.hasOwn(new result.errors.ToolError('m', own), 'getter'), false);
});

// Compares expressions with Node: each is the same, the same class of error, or refused by a RangeError that names a way
// out. Reports how many were refused.
process.env.TZ = 'UTC';
function asNode(rows) {
  const { run } = realm();
  let refusals = 0;
  const got = s => {
    try {
      return run(s);
    } catch (e) {
      if (e.name === 'RangeError' && /is not supported here: use ./.test(e.message)) {
        refusals++;
        return refused;
      }
      throw e;
    }
  };
  const refused = { refused: true };
  same(rows, s => { const v = got(s); return v === refused ? attempt(() => eval(s)) : v; }, s => eval(s));
  return refusals;
}
const maybe = (...values) => [undefined, ...values];
const objects = lists => [...product(...Object.values(lists))].map(row => JSON.stringify(Object.fromEntries(Object.keys(lists).map((k, i) => [k, row[i]]))));

test('numbers are written as en-US writes them', () => {
  const { run } = realm();
  const numbers = ['0', '-0', '1', '999', '1000', '-1234567.891', '0.1234', '1e21', '1.5e300', 'Infinity', '-Infinity', 'NaN', '12345678901234567890n', '-5n', '1234.5', '0.005', '1.005', '2.5', '-0.4', '1e-7', '999999.9999', '5e-324', '1.7976931348623157e308', '99.95', '9.5', '0.00123', '12345', '-1500', '999950'];
  const options = [...objects({ maximumFractionDigits: maybe(0, 1, 3), minimumFractionDigits: maybe(0, 2), style: maybe('percent') }),
    ...objects({ style: ['currency'], currency: ['USD', 'JPY', 'eur', 'CHF', 'KWD', 'XAF', 'ABC'], maximumFractionDigits: maybe(0), currencySign: maybe('accounting'), currencyDisplay: maybe('code', 'symbol') }),
    ...objects({ signDisplay: ['always', 'never', 'exceptZero', 'negative', 'auto'], style: maybe('percent'), maximumFractionDigits: maybe(0) }),
    ...objects({ notation: ['compact'], compactDisplay: maybe('long'), maximumFractionDigits: maybe(0, 1, 2), minimumFractionDigits: maybe(0), style: maybe('percent') }),
    ...objects({ notation: ['compact'], style: ['currency'], currency: ['USD', 'JPY', 'CHF'], compactDisplay: maybe('long') }),
    ...objects({ minimumSignificantDigits: maybe(1, 5), maximumSignificantDigits: maybe(1, 3, 21), notation: maybe('compact') }),
    ...objects({ minimumIntegerDigits: [1, 5, 21], useGrouping: maybe(true, false, 'always', 'auto', 'min2', 'false', '', 0) }),
    '{minimumFractionDigits: 200}', '{minimumFractionDigits: 3, maximumFractionDigits: 1}', '{minimumSignificantDigits: 5, maximumSignificantDigits: 2}', '{maximumFractionDigits: "x"}', '{style: "currency"}', '{style: "x"}', '{currency: "EURO"}', '{useGrouping: "x"}', 'null', '5', '"x"',
    '{notation: "standard", compactDisplay: "long", numberingSystem: "latn", roundingMode: "halfExpand", roundingPriority: "auto", unknown: 1, localeMatcher: "best fit"}'];
  const rows = [...product(numbers, ['undefined', ...options])].map(([n, o]) => `(${n}).toLocaleString("en-US", ${o})`);
  assert.equal(asNode(rows), 0);
  const codes = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'].flatMap(a => ['AED', 'AUD', 'BHD'].map(c => a + c.slice(1))).concat(Intl.supportedValuesOf('currency'));
  assert.equal(asNode(codes.map(c => `(-1234.567).toLocaleString("en-US", {style: "currency", currency: "${c}"})`)), 0);
  const refused = ['{style: "unit", unit: "liter"}', '{notation: "scientific"}', '{notation: "engineering"}', '{style: "currency", currency: "USD", currencyDisplay: "name"}', '{style: "currency", currency: "CAD", currencyDisplay: "narrowSymbol"}', '{roundingIncrement: 5}',
    '{roundingMode: "floor"}', '{roundingPriority: "morePrecision"}', '{trailingZeroDisplay: "stripIfInteger"}', '{numberingSystem: "arab"}'];
  for (const o of refused) assert.throws(() => run(`(1).toLocaleString("en", ${o})`), { name: 'RangeError', message: /is not supported here: use / }, o);
  for (const l of ['de-DE', 'fr', 'en-GB', 'en-IN', 'de-CH', 'ar-EG', 'sv', 'xx', 'en-US-u-nu-arab']) assert.throws(() => run(`(1).toLocaleString("${l}")`), { name: 'RangeError', message: /the locale ".*" is not supported here: use "en-US"/ }, l);
  assert.throws(() => run('Number.prototype.toLocaleString.call("x")'), { name: 'TypeError' });
});

const locales = ['undefined', '"en-US"', '"en"', '"EN-us"', '"en-Latn-US"', '[]', '["en-US", "de"]', '{}', '5', '"en_US"', '""', '"C"', '"e"', '"en-"', '["en", 5]', '"en-US.UTF-8"', 'null'];

test('dates are written as en-US writes them', () => {
  const { run } = realm();
  const times = ['"2024-01-08T14:05:07.089Z"', '"1999-12-31T23:59:59.999Z"', '"2024-02-29T00:00:00Z"', '"2030-10-10T12:30:45.5Z"', '"0005-09-03T09:09:09Z"', '"-000001-03-04T11:00:00Z"', '8.64e15', '-8.64e15', 'NaN'];
  const fields = [...objects({ weekday: maybe('long', 'short', 'narrow'), year: maybe('numeric', '2-digit'), month: maybe('numeric', '2-digit', 'long', 'short', 'narrow'), day: maybe('numeric', '2-digit') }),
    ...objects({ hour: maybe('numeric', '2-digit'), minute: maybe('numeric', '2-digit'), second: maybe('numeric', '2-digit'), hour12: maybe(true, false), fractionalSecondDigits: maybe(1, 3) }),
    ...objects({ hourCycle: ['h11', 'h12', 'h23', 'h24'], hour: maybe('numeric', '2-digit'), minute: maybe('numeric'), hour12: maybe(false), timeStyle: maybe('short') }),
    ...objects({ dateStyle: maybe('full', 'long', 'medium', 'short'), timeStyle: maybe('full', 'long', 'medium', 'short'), hour12: maybe(false), timeZone: maybe('UTC', 'Etc/GMT') }),
    ...objects({ weekday: maybe('short', 'long'), year: maybe('numeric'), month: maybe('numeric', 'long', 'short'), day: maybe('numeric'), hour: maybe('numeric'), minute: maybe('2-digit'), timeZoneName: maybe('short'), hour12: maybe(false) }),
    ...objects({ timeZoneName: ['short', 'long', 'shortOffset', 'longOffset', 'shortGeneric', 'longGeneric'], hour: maybe('numeric'), month: maybe('long'), weekday: maybe('long') }),
    '{dateStyle: "short", month: "long"}', '{timeStyle: "short", hour: "numeric"}', '{month: "foo"}', '{fractionalSecondDigits: 4}', '{hourCycle: "h13"}', 'null', '"x"', '{calendar: "gregory", numberingSystem: "latn", localeMatcher: "best fit", formatMatcher: "basic", unknown: 1}'];
  const calls = ['toLocaleString', 'toLocaleDateString', 'toLocaleTimeString'];
  const rows = [...product(times, calls, ['undefined', ...fields])].map(([t, f, o]) => `new Date(${t}).${f}("en-US", ${o})`), refusals = asNode(rows);
  assert.ok(refusals < rows.length / 5, `${refusals} of ${rows.length} are refused`);
  assert.equal(asNode([...product(['new Date(0)', '(1234.5)'], locales)].map(([v, l]) => `${v}.toLocaleString(${l})`)), 0);
  const bad = ['{timeZone: "America/New_York"}', '{timeZone: "Nope/Zone"}', '{timeZone: "+02:00"}', '{era: "short"}', '{dayPeriod: "long"}', '{calendar: "buddhist"}', '{numberingSystem: "arab"}', '{year: "numeric", day: "numeric"}', '{weekday: "short", month: "long"}', '{hour: "numeric", second: "numeric"}'];
  for (const o of bad) assert.throws(() => run(`new Date(0).toLocaleString("en-US", ${o})`), { name: 'RangeError', message: /is not supported here: use / }, o);
  for (const l of ['de-DE', 'en-GB', 'sv-SE', 'en-CA', 'ja', '["fr", "en"]']) for (const f of calls) assert.throws(() => run(`new Date(0).${f}(${l[0] === '[' ? l : `"${l}"`})`), { name: 'RangeError', message: /the locale ".*" is not supported here: use "en-US"/ }, l);
  assert.throws(() => run('Date.prototype.toLocaleString.call({})'), { name: 'TypeError' });
});

test('letters change their case as in all languages but three', () => {
  asNode([...product(['"aßǆİiΣ"', '"ÀΑΣ"', 'null', '5'], ['Upper', 'Lower'], [...locales.filter(l => !/5\]/.test(l)), '"de"', '"xx-YY"'])].map(([s, c, l]) => `String.prototype.toLocale${c}Case.call(${s}, ${l})`));
  for (const l of ['tr', 'az-Latn', 'lt-LT']) assert.throws(() => realm().run(`"i".toLocaleUpperCase("${l}")`), { name: 'RangeError', message: /is not supported here: use / });
});

test('what is global is hidden from enumeration, and what must not be is gone', () => {
  const { run, global } = realm({ std: {}, os: {}, gc() {}, navigator: {}, bjson: {} });
  for (const name of ['console', 'structuredClone', 'TextEncoder', 'TextDecoder', 'URL', 'URLSearchParams', 'crypto', 'AbortController', 'AbortSignal', 'Event', 'EventTarget', 'ToolError']) {
    const d = Object.getOwnPropertyDescriptor(global, name);
    assert.deepEqual([d?.enumerable, d?.writable, d?.configurable], [false, true, true], name);
  }
  for (const name of ['std', 'os', 'bjson', 'navigator', 'gc', 'Atomics', 'SharedArrayBuffer', 'Headers', 'fetch', 'require', 'process', 'Buffer']) {
    assert.equal(run(`typeof ${name}`), 'undefined', name);
  }
});

// ---- programs that change the intrinsics ----

test('the source keeps the rules it states', () => {
  // Comments and strings aside; what runs only once, before any program, may iterate.
  const code = source.replace(/^ *\/\/.*$/gm, '').replace(/'(\\.|[^'\\\n])*'/g, "''").replace(/"(\\.|[^"\\\n])*"/g, '""');
  assert.doesNotMatch(code, /`/, 'QuickJS makes template literals with String.prototype.concat');
  assert.doesNotMatch(code, /\binstanceof\b|\bsuper\.|\bawait\b/);
  assert.deepEqual(code.match(/\bfor \(const \w+ of \w+/g), ['for (const b of given', 'for (const x of signals', 'for (const p of init', 'for (const x of p']);
  assert.deepEqual(code.match(/\.\.\.(?!args\b)\w*/g), null, 'spread');
  assert.doesNotMatch(code, /(const|let) \[/, 'destructuring of iterables');
});

// Everything a program can reach and change, changed: methods throw, accessors
// throw, indexes and option names are trapped on the prototypes, globals are gone.
const sabotage = `(() => {
  const { defineProperty, getOwnPropertyDescriptor, setPrototypeOf } = Object, { ownKeys, apply } = Reflect, call = f => f;
  const boom = function () { throw new EvalError('sabotaged') };
  const ours = new Set(['console', 'structuredClone', 'TextEncoder', 'TextDecoder', 'URL', 'URLSearchParams', 'crypto', 'AbortController', 'AbortSignal', 'Event', 'EventTarget', 'DOMException',
    'ToolCallDeniedError', 'ToolNotFoundError', 'InvalidArgumentsError', 'InvalidResultError', 'ToolError', 'UpstreamError', 'LimitError', 'globalThis', 'EvalError', 'setTimeout']);
  const EvalError = globalThis.EvalError;
  const has = Set.prototype.has.bind(ours), done = new WeakSet(), seenHas = WeakSet.prototype.has.bind(done), seenAdd = WeakSet.prototype.add.bind(done);
  const queue = [];
  let n = 0;
  for (const k of ownKeys(globalThis)) if (typeof k === 'string' && !has(k)) queue[n++] = globalThis[k];
  queue[n++] = Object.getPrototypeOf(new Map().entries());
  queue[n++] = Object.getPrototypeOf(new Set().values());
  queue[n++] = Object.getPrototypeOf([].values());
  queue[n++] = Object.getPrototypeOf(Uint8Array);
  queue[n++] = Object.getPrototypeOf(function* () {}).prototype;
  queue[n++] = Object.getPrototypeOf(async function () {});
  const targets = [];
  let m = 0;
  for (let i = 0; i < n; i++) {
    const o = queue[i];
    if ((typeof o !== 'object' && typeof o !== 'function') || o === null || seenHas(o)) continue;
    seenAdd(o);
    targets[m++] = o;
    if (typeof o === 'function' && o.prototype) queue[n++] = o.prototype;
  }
  const keep = KEEP;
  const symbols = [Symbol.iterator, Symbol.species, Symbol.replace, Symbol.split, Symbol.match, Symbol.toPrimitive, Symbol.toStringTag, Symbol.hasInstance, Symbol.isConcatSpreadable, Symbol.unscopables];
  const objectProto = Object.prototype, arrayProto = Array.prototype, stringProto = String.prototype, funcProto = Function.prototype, errorProto = Error.prototype;
  const names = Object.getOwnPropertyNames(globalThis).filter(k => !has(k) && k !== 'undefined');
  const desc = { __proto__: null, configurable: true, enumerable: false, get: boom, set: boom };
  const value = { __proto__: null, configurable: true, enumerable: false, writable: true, value: boom };
  const apply_ = (o, k) => {
    const d = getOwnPropertyDescriptor(o, k);
    if (!d || !d.configurable) return;
    try { defineProperty(o, k, 'value' in d ? typeof d.value === 'function' || typeof k === 'symbol' ? value : desc : desc) } catch {}
  };
  const work = [];
  let w = 0;
  for (let i = 0; i < m; i++) {
    const keys = ownKeys(targets[i]);
    for (let j = 0; j < keys.length; j++) if (!keep(targets[i], keys[j])) work[w++] = { o: targets[i], k: keys[j] };
  }
  for (let i = 0; i < w; i++) apply_(work[i].o, work[i].k);
  const traps = ['get', 'set', 'value', 'writable', 'enumerable', 'configurable', 'done', 'next', 'return', 'then', 'capture', 'once', 'signal', 'transfer', 'fatal', 'ignoreBOM', 'stream', 'maxByteLength', 'message', 'cause', 'depth', 'style', 'scheme', 'host', 'path', 'query',
    'a', 'b', 'name', 'stack', 'code', 'http:', 'utf-8', 'pathname', 'url', 'left', 'seen', 'removed', 'callback', 'type'];
  for (let i = 0; i < traps.length; i++) defineProperty(objectProto, traps[i], desc);
  for (let i = 0; i < 12; i++) {
    defineProperty(objectProto, i, desc);
    defineProperty(arrayProto, i, desc);
    defineProperty(stringProto, i, desc);
  }
  for (let i = 0; i < symbols.length; i++) {
    try { defineProperty(objectProto, symbols[i], desc) } catch {}
    try { defineProperty(stringProto, symbols[i], desc) } catch {}
    try { defineProperty(arrayProto, symbols[i], desc) } catch {}
  }
  for (let i = 0; i < names.length; i++) delete globalThis[names[i]];
})()`;

// A value as text, read with Node's own intrinsics only.
function describe(v, seen = []) {
  if ((typeof v !== 'object' && typeof v !== 'function') || v === null) return typeof v === 'bigint' ? `${v}n` : String(v);
  if (seen.includes(v)) return '(seen)';
  seen.push(v);
  const kind = kindOf(v), out = [];
  const use = (C, name, ...args) => Reflect.apply(C.prototype[name], v, args);
  if (kind === 'map') use(Map, 'forEach', (x, k) => out.push(`${describe(k, seen)} => ${describe(x, seen)}`));
  if (kind === 'set') use(Set, 'forEach', x => out.push(describe(x, seen)));
  if (kind === 'date') out.push(use(Date, 'getTime'));
  if (kind === 'arraybuffer') out.push(new Uint8Array(v).join());
  if (kind === 'typedarray') out.push(view(v).join());
  if (kind !== 'typedarray') {
    for (const k of Reflect.ownKeys(v)) {
      const d = Reflect.getOwnPropertyDescriptor(v, k);
      if (k !== 'stack' && !/async_id/.test(String(k))) out.push(`${String(k)}: ${'value' in d ? describe(d.value, seen) : 'accessor'}`);
    }
  }
  return `${kind}(${out.join(', ')})`;
}

test('nothing a program changes is noticed', () => {
  // The work is driven from outside, by Node's own intact intrinsics.
  const work = r => {
    const { global, lines, values, result } = r, out = [];
    const { URL, URLSearchParams, TextEncoder, TextDecoder, structuredClone, crypto, console, EventTarget, Event, AbortController, AbortSignal } = r.captured;
    const note = (name, f) => {
      let v;
      try {
        v = f();
      } catch (e) {
        v = `threw ${String(e?.message ?? e)}\n${e?.stack}`;
      }
      out.push([name, v]);
    };
    const part = (o, C, p) => Reflect.apply(Object.getOwnPropertyDescriptor(C.prototype, p).get, o, []);
    for (const s of ['http://u:p@EXAMPLE.com:81/a/../b c?q=é#f', 'http://0x7f.1', 'http://[1:0:0::2]/', 'http://bücher.de', 'foo:opaque x', 'file:///C|/x', 'http://ΑΣ.gr/%2e%2e/', 'bad', 'http://a b']) {
      for (const b of [undefined, 'http://h/x/y?z']) {
        note(`URL ${s} ${b}`, () => {
          if (!URL.canParse(s, b)) return 'no';
          const u = new URL(s, b);
          return parts.map(p => part(u, URL, p)).join(' ');
        });
      }
    }
    note('new URL fails', () => { try { new URL('bad'); } catch (e) { return [Object.getOwnPropertyDescriptor(e, 'message').value, Object.getOwnPropertyDescriptor(e, 'code').value].join(); } });
    note('setters', () => {
      const u = new URL('http://h/');
      for (const [p, v] of [['host', 'x:9'], ['pathname', '/a/../é'], ['search', '?q=1'], ['hash', 'x'], ['username', 'ü'], ['port', '77'], ['protocol', 'https']]) u[p] = v;
      const p = u.searchParams;
      p.append('b', 'c d');
      p.set('q', '2');
      p.sort();
      p.delete('b');
      return [u.href, p.get('q'), p.has('q'), p.size, p.toString()].join();
    });
    note('params', () => {
      const p = new URLSearchParams('a=1&a=2&%41=+');
      let s = '';
      p.forEach((v, k) => { s += `${k}=${v};`; });
      const all = p.getAll('a');
      return s + Object.getOwnPropertyDescriptor(all, '1').value + p.size;
    });
    note('record', () => new URLSearchParams(values.record).toString());
    note('encode', () => describe(new TextEncoder().encode('é💩')));
    note('encodeInto', () => {
      const r = new TextEncoder().encodeInto('é💩x', values.bytes4);
      return Object.getOwnPropertyDescriptor(r, 'read').value;
    });
    for (const label of ['utf-8', 'utf-16le', 'latin1']) {
      note(`decode ${label}`, () => {
        const d = new TextDecoder(label);
        return d.decode(Uint8Array.of(0xef, 0xbb, 0xbf, 0xe2, 0x82), values.stream) + d.decode(Uint8Array.of(0xac, 0xd8), values.stream) + d.decode();
      });
    }
    for (const [k, v] of Object.entries(values)) {
      note(`clone ${k}`, () => describe(structuredClone(v)));
      note(`log ${k}`, () => {
        lines.length = 0;
        console.log(v);
        console.log('%s %d %O', v, 5, v);
        console.table(v);
        console.dir(v);
        return lines.join('\n').replace(/ +at .*\n?/g, '');
      });
    }
    note('console', () => {
      lines.length = 0;
      console.group('g'); console.log('a\nb'); console.groupEnd(); console.count('c'); console.time('t'); console.timeEnd('t'); console.assert(false, 'x'); console.trace('t');
      return lines.join('\n').replace(/Trace: t[^]*/, 'Trace: t').replace(/\d+ms/, 'ms');
    });
    note('uuid', () => crypto.randomUUID().length);
    note('random', () => crypto.getRandomValues(values.bytes4) === values.bytes4);
    note('events', () => {
      let s = '';
      const t = new EventTarget(), c = new AbortController();
      t.addEventListener('x', () => { s += 'x'; }, { __proto__: null, once: true });
      t.addEventListener('x', () => { throw 1; });
      t.dispatchEvent(new Event('x'));
      t.dispatchEvent(new Event('x'));
      c.signal.addEventListener('abort', () => { s += 'abort'; });
      const any = AbortSignal.any([c.signal]);
      c.abort();
      try { any.throwIfAborted(); } catch (e) { s += e.name; }
      return s;
    });
    for (const [name, C] of Object.entries(r.classes)) {
      note(name, () => {
        const e = new C('m', values.props);
        return [Object.getOwnPropertyDescriptor(e, 'message').value, Object.getOwnPropertyDescriptor(e, 'reason').value].join();
      });
    }
    note('locale', () => Reflect.apply(r.captured.locale, 1234567.5, []));
    return out;
  };
  const prepare = () => {
    const r = realm();
    r.captured = { ...Object.fromEntries(['URL', 'URLSearchParams', 'TextEncoder', 'TextDecoder', 'structuredClone', 'crypto', 'console', 'EventTarget', 'Event', 'AbortController', 'AbortSignal'].map(k => [k, r.global[k]])), locale: r.run('Number.prototype.toLocaleString') };
    r.classes = { ...r.result.errors };
    r.values = r.run(`({
      object: {a: 1, b: {c: [1, 2, {d: 'x'}]}, 'e-f': null}, array: [1, , 3], long: Array.from({length: 150}, (_, i) => i), map: new Map([[1, {a: 2}], ['k', new Set([3])]]), set: new Set([1, 'a']), date: new Date(0), regexp: /a[/]b/gi,
      boxed: [Object(1), Object('ab'), Object(5n)], error: (e => (e.stack, e))(new TypeError('boo', {cause: {why: 1}})), buffer: Uint8Array.of(1, 2, 3).buffer, bytes4: new Uint8Array(4), view: new DataView(new ArrayBuffer(2)), big: new BigInt64Array(2), cycle: (() => { const a = {}; a.a = a; return a })(),
      getter: Object.defineProperty({}, 'g', {get() { throw 1 }, enumerable: true}), functions: [() => 1, class A {}, async () => 1], record: {__proto__: null, a: 'b', c: 'd'}, props: {reason: 'r'}, stream: {__proto__: null, stream: true}, text: "it's \\n \\u001b", rows: [{a: 1, b: 2}, {a: 3}],
    })`);
    r.values = { ...r.values };
    return r;
  };
  const want = work(prepare());
  assert.deepEqual(want.filter(([n, v]) => String(v).startsWith('threw') && n !== 'clone functions' && n !== 'clone getter'), [], 'the work itself is sound');
  const r = prepare();
  // The program's values keep their constructors, so that they print alike.
  r.run(sabotage.replace('KEEP', `(o, k) => k === 'constructor' || (typeof o === 'function' && (k === 'name' || k === 'prototype' || k === 'length'))`));
  assert.throws(() => r.run('[].push(1)'));
  assert.throws(() => r.run('[...[]]'));
  const got = work(r);
  const bad = [];
  for (let i = 0; i < want.length; i++) if (String(got[i][1]) !== String(want[i][1]) ) bad.push(`${got[i][0]}\n  got  ${got[i][1]}\n  want ${want[i][1]}`);
  assert.equal(bad.length, 0, `${bad.length} of ${want.length} differ:\n${bad.join('\n')}`);
});
