// structuredClone of ever larger data.
// Ends at the time limit, or by another limit before.
let a = [1, 2, 3];
for (;;) a = structuredClone([a, a.slice(), { a: a.slice() }]);
