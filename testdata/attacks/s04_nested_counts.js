// Counted loops inside counted loops. Ends at the time limit.
return /^(?:(?:a{1,30}){1,30}){1,30}$/.test('a'.repeat(60) + '!');
