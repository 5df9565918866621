// Recursion through toJSON.
// An error the guest sees, no crash.
const o = { toJSON() { return JSON.stringify(o); } };
return JSON.stringify(o);
