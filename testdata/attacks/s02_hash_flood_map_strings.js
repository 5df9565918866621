// 65,536 strings with one hash: the string hash is h*263+c without a secret, so pairs can trade.
// Each insertion walks all before it; the outer stop ends it.
const pair = ['\u0200\u0200', '\u0201\u00f9'];
let all = [''];
for (let i = 0; i < 16; i++) all = all.flatMap(s => [s + pair[0], s + pair[1]]);
let n = 0;
for (;;) {
  const m = new Map();
  for (const s of all) m.set(s, n++);
}
