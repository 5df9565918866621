// Recursion through a comparator.
// An error the guest sees, no crash.
const f = () => [1, 2, 3].sort(f).length;
return f();
