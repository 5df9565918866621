// Nested quantifiers: 2^60 ways to fail. Ends at the time limit.
return /^(a+)+$/.test('a'.repeat(60) + '!');
