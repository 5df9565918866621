// Calls a function of sixty thousand parameters without any argument. Timeout.
const f = (0, eval)(`(function (${Array.from({ length: 60000 }, (_, i) => "a" + i)}) {})`);
for (;;) f();
