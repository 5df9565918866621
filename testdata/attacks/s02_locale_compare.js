// localeCompare normalises both of its megabytes each time. The outer stop ends it.
const a = '\u00e9'.repeat(5e5), b = a + 'x';
let n = 0;
for (;;) n += a.localeCompare(b);
