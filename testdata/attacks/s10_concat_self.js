// An array concatenated with itself. Memory.
let a = [1];
for (;;) a = a.concat(a);
