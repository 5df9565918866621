// The array iterator of a length of 2^53-1 is an endless iterator without a line of program code:
// Set.prototype.isSupersetOf asks it for keys. The outer stop ends it.
if (!new Set().isSupersetOf) for (;;);
return new Set([undefined]).isSupersetOf({ size: 1, has: Boolean, keys: () => [][Symbol.iterator].call({ length: 2 ** 53 - 1 }) });
