// Two hundred thousand nested arrays made into text.
// An error the guest sees, no crash.
let o = [1];
for (let i = 0; i < 2e5; i++) o = [o];
return String(o);
