// Plain recursion without an end.
// An error the guest sees, no crash.
function f() { return 1 + f(); }
return f();
