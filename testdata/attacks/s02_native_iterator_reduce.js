// The array iterator of a length of 2^53-1 is an endless iterator without a line of program code:
// reduce with Math.max never returns. The outer stop ends it.
if (![].values().reduce) for (;;);
return [][Symbol.iterator].call({ length: 2 ** 53 - 1 }).reduce(Math.max);
