// super calls through a class chain of twenty thousand.
// An error the guest sees, no crash.
let C = class {};
for (let i = 0; i < 20000; i++) { const B = C; C = class extends B {}; }
new C();
null.x;
