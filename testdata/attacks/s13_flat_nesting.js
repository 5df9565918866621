// flat(Infinity) of two hundred thousand nested arrays.
// An error the guest sees, no crash.
let o = [1];
for (let i = 0; i < 2e5; i++) o = [o];
return o.flat(Infinity).length;
