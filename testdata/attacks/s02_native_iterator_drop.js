// The array iterator of a length of 2^53-1 is an endless iterator without a line of program code:
// Iterator.prototype.drop skips all of it. The outer stop ends it.
if (![].values().drop) for (;;);
return [][Symbol.iterator].call({ length: 2 ** 53 - 1 }).drop(2 ** 53 - 1).next();
