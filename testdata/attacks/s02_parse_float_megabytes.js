// Number of ten million digits, again and again. The outer stop ends it.
const s = '0.' + '1'.repeat(10e6);
let n = 0;
for (;;) n += Number(s) + parseFloat(s) + parseInt('9'.repeat(1e6), 36);
