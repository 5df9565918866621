// The same colliding strings as property names: the atom table walks one long chain for each.
// The outer stop ends it.
const pair = ['\u0200\u0200', '\u0201\u00f9'];
let all = [''];
for (let i = 0; i < 16; i++) all = all.flatMap(s => [s + pair[0], s + pair[1]]);
for (;;) {
  const o = Object.create(null);
  for (const s of all) o[s] = 1;
}
