// Recursion through Array.prototype.map.
// An error the guest sees, no crash.
const f = () => [1].map(f);
return f();
