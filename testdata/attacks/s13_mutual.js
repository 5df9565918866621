// Three functions that call each other without an end.
// An error the guest sees, no crash.
const a = () => b() + 1, b = () => c() + 1, c = () => a() + 1;
return a();
