// The array iterator of a length of 2^53-1 is an endless iterator without a line of program code:
// two of them zipped and drained by forEach. The outer stop ends it.
const a = [][Symbol.iterator].call({ length: 2 ** 53 - 1 });
if (typeof Iterator === 'undefined' || !Iterator.zip) for (;;);
Iterator.zip([a, [][Symbol.iterator].call({ length: 2 ** 53 - 1 })]).forEach(Boolean);
return 1;
