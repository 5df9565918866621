// Recursion through reduce.
// An error the guest sees, no crash.
const f = () => [1, 2].reduce(f);
return f();
