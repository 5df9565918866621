// The array iterator of a length of 2^53-1 is an endless iterator without a line of program code:
// new Set() drains it in constant memory. The outer stop ends it.
return new Set([][Symbol.iterator].call({ length: 2 ** 53 - 1 })).size;
