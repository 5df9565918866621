// One letter with 200,000 combining marks in falling order: sorting them is quadratic in one native call.
// The outer stop ends it.
const s = 'a' + '\u0301'.repeat(100000) + '\u0323'.repeat(100000);
let n = 0;
for (;;) n += s.normalize('NFD').length;
