// The array iterator of a length of 2^53-1 is an endless iterator without a line of program code:
// filter with Boolean looks for a first match for ever. The outer stop ends it.
if (![].values().filter) for (;;);
return [][Symbol.iterator].call({ length: 2 ** 53 - 1 }).filter(Boolean).next();
