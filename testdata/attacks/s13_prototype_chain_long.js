// A prototype chain of two hundred thousand, read to its end and then dropped.
// An error the guest sees, no crash.
let o = {};
for (let i = 0; i < 200000; i++) o = Object.create(o);
if (o.missing === undefined) null.x;
