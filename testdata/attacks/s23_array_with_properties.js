// An array with extra properties, a getter at an index and a changed prototype. Value.
const a = [1, 2];
a.x = 3;
Object.defineProperty(a, 1, { get: () => 'two', enumerable: true });
Object.setPrototypeOf(a, null);
return a;
