// structuredClone of a big array, again and again. The outer stop ends it.
if (typeof structuredClone === 'undefined') for (;;);
const a = Array.from({ length: 100000 }, (_, i) => ({ i }));
let n = 0;
for (;;) n += structuredClone(a).length;
