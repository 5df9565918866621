// structuredClone of two hundred thousand nested arrays.
// An error the guest sees, no crash.
let o = [];
for (let i = 0; i < 2e5; i++) o = [o];
return structuredClone(o).length;
