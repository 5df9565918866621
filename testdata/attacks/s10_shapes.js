// Objects that all have another shape. Memory.
const a = [];
for (let i = 0; ; i++) a.push({ ['a' + (i % 1000)]: 1, ['b' + (i % 997)]: 2, ['c' + i]: 3 });
