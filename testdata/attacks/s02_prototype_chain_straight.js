// Looks along a hundred thousand prototypes, a hundred thousand times without a jump. Timeout.
let o = {};
for (let i = 0; i < 100000; i++) o = Object.create(o);
(0, eval)(`(function (o) { for (;;) { ${"o.x;".repeat(100000)} } })`)(o);
