// The Function constructor in its own product.
// An error the guest sees, no crash.
const f = () => Function('f', 'return f()')(f);
return f();
