// The array iterator of a length of 2^53-1 is an endless iterator without a line of program code:
// Set.prototype.union takes them all, one value. The outer stop ends it.
if (!new Set().union) for (;;);
return new Set([1]).union({ size: 1, has: Boolean, keys: () => [][Symbol.iterator].call({ length: 2 ** 53 - 1 }) }).size;
