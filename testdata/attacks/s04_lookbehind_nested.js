// Exponential work read backwards. Ends at the time limit.
return /(?<=^(a+)+)$/.test('!' + 'a'.repeat(60));
