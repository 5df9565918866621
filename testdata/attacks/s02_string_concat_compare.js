// Two long strings that differ in the last letter only, compared again and again. The outer stop ends it.
const a = 'a'.repeat(2e7) + 'b', b = 'a'.repeat(2e7) + 'c';
let n = 0;
for (;;) n += a < b ? 1 : 0;
