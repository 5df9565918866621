// Looks for a property along a hundred thousand prototypes, in a loop of the interpreter itself. Timeout.
let o = {};
for (let i = 0; i < 100000; i++) o = Object.create(o);
for (;;) o.missing;
