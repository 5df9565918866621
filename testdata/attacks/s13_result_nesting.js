// Two hundred thousand nested arrays as the result.
// An error the guest sees, no crash.
let o = [];
for (let i = 0; i < 2e5; i++) o = [o];
return o;
