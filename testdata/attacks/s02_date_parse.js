// Date.parse of megabytes of nested remarks and spaces, again and again. The outer stop ends it.
const s = 'Jan 1 2000 ' + '('.repeat(5e6) + ')'.repeat(5e6);
let n = 0;
for (;;) n += Date.parse(s) ? 1 : 0;
