// In a finally block. Denied.
try { return 1; } finally { await codemode.secret({}); }
