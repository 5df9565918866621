// It is stopped in a function with a hundred thousand places, of which the host then asks for the right one. Timeout.
const f = (0, eval)(`(function (a) { ${"a.size;".repeat(100000)} })`);
for (;;) f(new Map());
