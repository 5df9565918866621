// A thousand functions made from text and run at once. Value.
const fs = Array.from({ length: 1000 }, (_, i) => new Function('x', 'return x + ' + i));
return fs.reduce((s, f) => s + f(1), 0);
