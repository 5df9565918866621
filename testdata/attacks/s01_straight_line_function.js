// A function of a million operations without a jump, called for ever. Timeout.
const f = (0, eval)(`(function (a) { ${"a = 1;".repeat(500000)} })`);
for (;;) f(0);
