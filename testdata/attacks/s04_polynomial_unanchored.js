// A polynomial that starts again at every letter of two megabytes. Ends at the time limit, or at that of memory.
return /a*a*b/.test('a'.repeat(2e6));
