// Promises that nobody settles. Memory.
const a = [];
for (;;) a.push(new Promise(() => {}));
