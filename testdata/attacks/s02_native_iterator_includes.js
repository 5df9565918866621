// The array iterator of a length of 2^53-1 is an endless iterator without a line of program code:
// includes (where there is one) or find never returns. The outer stop ends it.
if (![].values().find) for (;;);
const it = [][Symbol.iterator].call({ length: 2 ** 53 - 1 });
return it.includes ? it.includes(1) : it.find(Boolean);
