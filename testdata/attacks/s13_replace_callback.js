// Recursion through a replace callback.
// An error the guest sees, no crash.
const f = () => 'aa'.replace(/a/g, f);
return f();
