// Two hundred thousand nested arrays as JSON text.
// An error the guest sees, no crash.
return JSON.parse('['.repeat(1e6) + ']'.repeat(1e6)).length;
