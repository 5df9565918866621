// prepareStackTrace that throws from inside itself.
// An error the guest sees, no crash.
Error.prepareStackTrace = () => { new Error().stack; return f(); };
function f() { throw new Error(); }
return f();
