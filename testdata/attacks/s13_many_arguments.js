// Recursion with a hundred arguments and locals each.
// An error the guest sees, no crash.
const f = Function(...Array.from({ length: 100 }, (_, i) => 'a' + i), 'return [' + Array.from({ length: 100 }, (_, i) => 'a' + i) + ', arguments.callee(' + Array.from({ length: 100 }, (_, i) => 'a' + i) + ')]');
return f();
