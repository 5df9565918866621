// Writes guest/collation.h: how the root of CLDR orders Latin, Greek, Cyrillic, digits, punctuation and symbols, asked of
// Node, whose Intl.Collator knows:
//
//	node guest/collation.mjs > guest/collation.h

const base = new Intl.Collator('en', { sensitivity: 'base' }), accent = new Intl.Collator('en', { sensitivity: 'accent' }), full = new Intl.Collator('en');
const text = String.fromCodePoint;
const blocks = [[0, 0x2ff], [0x2000, 0x2bff], [0x3000, 0x303f], [0x1f000, 0x1faff]];
const known = [];
for (let c = 0; c < 0x1fb00; c++) {
  if (c >= 0xd800 && c < 0xe000 || /^[\p{Cn}\p{M}]$/u.test(text(c))) continue;
  if (blocks.some(([a, b]) => c >= a && c <= b) || c < 0x3000 && /^[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}]$/u.test(text(c))) known.push(c);
}
const ignored = c => base.compare(text(c), '') === 0;
// One that is not made of others; й is, and yet a letter of its own.
const simple = known.filter(c => !ignored(c) && text(c).toLowerCase() === text(c) && (text(c).normalize('NFKD') === text(c) || c === 0x439));
simple.sort((a, b) => full.compare(text(a), text(b)) || a - b);
// One that is like two letters.
const letters = 'abcdefghijklmnopqrstuvwxyz', pairs = [], paired = new Set();
for (const c of simple) {
  if (c < 128) continue;
  for (const a of letters) for (const b of letters)
    if (base.compare(text(c), a + b) === 0) pairs.push([c, a, b, accent.compare(text(c), a + b) !== 0]), paired.add(c);
}
const groups = [];
for (const c of simple) {
  if (paired.has(c)) continue;
  const g = groups.at(-1);
  if (g && base.compare(text(g[0]), text(c)) === 0) g.push(c);
  else groups.push([c]);
}

const runs = [];
groups.forEach(([c], i) => {
  const r = runs.at(-1);
  if (r && r.start + r.length === c) r.length++;
  else runs.push({ start: c, length: 1, rank: i + 1 });
});
runs.sort((a, b) => a.start - b.start);

// Accents: how they differ from none, from 2 on.
const marks = Array.from({ length: 0x70 }, (_, i) => 0x300 + i);
const accents = marks.filter(m => base.compare('e' + text(m), 'e') === 0 && accent.compare('e' + text(m), 'e') !== 0);
accents.sort((a, b) => full.compare('e' + text(a), 'e' + text(b)));
const weight = {};
accents.forEach((m, i) => { weight[m] = i === 0 ? 2 : weight[accents[i - 1]] + (full.compare('e' + text(accents[i - 1]), 'e' + text(m)) !== 0); });
const last = Math.max(...Object.values(weight));

// A letter like another with an accent or in another form.
const like = [];
for (const g of groups) {
  let beyond = last;
  for (const c of g.slice(1)) {
    let w = 0;
    if (accent.compare(text(g[0]), text(c)) !== 0) w = /\p{L}/u.test(text(c)) ? 2 + accents.filter(m => full.compare(text(g[0], m), text(c)) < 0).length : ++beyond;
    like.push([c, g[0], w, full.compare(text(g[0]), text(c)) !== 0]);
  }
}
const row = (list, f) => list.map(f).reduce((s, x) => s + (s.length - s.lastIndexOf('\n') + x.length > 118 ? '\n   ' : '') + ' ' + x + ',', '   ');
const rank = c => groups.findIndex(g => g[0] === c) + 1;
const ascii = Array.from({ length: 128 }, (_, c) => ignored(c) ? 0 : rank(text(c).toLowerCase().codePointAt(0)));
console.log(`/* Written by guest/collation.mjs from CLDR ${process.versions.cldr}: do not edit. */

/* The ranks of ASCII; 0 is ignored. */
static const uint16_t coll_ascii[128] = {
${row(ascii, n => `${n}`)}
};

/* Letters and signs in lower case, in runs that are in order: the first, how many, and the rank of the first. */
static const struct { uint32_t start; uint16_t length, rank; } coll_runs[] = {
${row(runs, r => `{${r.start},${r.length},${r.rank}}`)}
};

/* What differs from another only as an accent (its weight) or as another form (1) does. */
static const struct { uint32_t c, base; uint8_t accent, form; } coll_like[] = {
${row(like.sort((a, b) => a[0] - b[0]), ([c, b, w, f]) => `{${c},${b},${w},${w === 0 && f ? 1 : 0}}`)}
};

/* What is like two letters, with an accent (1) or in another form. */
static const struct { uint32_t c; uint8_t first, second, accent; } coll_pairs[] = {
${row(pairs.sort((a, b) => a[0] - b[0]), ([c, a, b, w]) => `{${c},'${a}','${b}',${+w}}`)}
};

/* The weights of the accents from U+0300 on; 0 is unknown. */
static const uint8_t coll_accents[${marks.length}] = {
${row(marks, m => `${weight[m] ?? 0}`)}
};
enum { COLL_ACCENT_MAX = ${last + 40}, COLL_SHORT_I = ${rank(0x439)} };`);
