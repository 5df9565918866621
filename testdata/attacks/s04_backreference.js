// A backreference that must be tried at each length. Ends at the time limit.
return /^(a+)+\1+b$/.test('a'.repeat(60));
