// JSON.parse of megabytes of brackets, again and again: one native call each. The outer stop ends it.
const s = '[' + '[],'.repeat(150000) + '[]]';
let n = 0;
for (;;) n += JSON.parse(s).length;
