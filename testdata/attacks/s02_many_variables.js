// Calls a function of sixty thousand variables, which are made anew by each call. Timeout.
const f = (0, eval)(`(function () { var ${Array.from({ length: 60000 }, (_, i) => "a" + i)} })`);
for (;;) f();
