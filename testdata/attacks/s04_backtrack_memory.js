// Thirty million choice points kept on the backtrack stack. Memory or time.
return /^(?:(.)|.)*x$/s.test('a'.repeat(16e6));
