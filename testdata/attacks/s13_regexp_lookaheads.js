// Nested lookaheads.
// An error the guest sees, no crash.
return new RegExp('(?='.repeat(1e5) + ')'.repeat(1e5)).source.length;
