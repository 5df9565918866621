// Generators that delegate to ever deeper ones.
// An error the guest sees, no crash.
function* g() { yield* g(); }
return g().next();
