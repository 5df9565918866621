// An array that a getter empties while it is written out. Value.
const a = [1, 2, 3];
Object.defineProperty(a, 0, { get() { a.length = 1; return 0; }, enumerable: true });
return a;
