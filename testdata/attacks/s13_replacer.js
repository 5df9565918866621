// Recursion through a replacer.
// An error the guest sees, no crash.
const f = () => JSON.stringify([1], f);
return f();
