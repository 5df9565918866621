// Recursion through the mapper of Array.from.
// An error the guest sees, no crash.
const f = () => Array.from([1], f);
return f();
