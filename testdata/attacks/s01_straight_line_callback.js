// A native method calls a function of many operations without a jump. Timeout.
const f = (0, eval)(`(function (a) { ${"a = 1;".repeat(200000)} })`);
for (;;) [1, 2, 3].map(f);
