// One letter that decomposes into eighteen, a million times.
// Ends at the time limit, or by another limit before.
return '\ufdfa'.repeat(4e6).normalize('NFKD').length;
