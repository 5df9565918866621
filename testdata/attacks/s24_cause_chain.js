// A chain of fifty thousand causes. Error, ends.
let e = new Error('0');
for (let i = 0; i < 50000; i++) e = new Error('n', { cause: e });
throw e;
