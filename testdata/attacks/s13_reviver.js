// Recursion through a reviver.
// An error the guest sees, no crash.
const f = () => JSON.parse('[1]', f);
return f();
