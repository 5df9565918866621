// Regular expressions, all different. Memory.
const a = [];
for (let i = 0; ; i++) a.push(new RegExp('a' + i + '|b{' + (i % 100) + '}'));
