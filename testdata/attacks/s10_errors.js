// Errors with their stacks. Memory.
const a = [];
for (;;) a.push(new Error("x".repeat(100)));
