// A generator runs many operations without a jump between two yields. Timeout.
const g = (0, eval)(`(function* (a) { for (;;) { yield; ${"a = 1;".repeat(200000)} } })`)(0);
for (;;) g.next();
