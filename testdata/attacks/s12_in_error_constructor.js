// Out of memory while an Error and its stack are made. Memory.
const keep = [];
for (;;) keep.push(new Error("x".repeat(100000) + keep.length));
