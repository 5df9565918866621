// The same, case-insensitive and Unicode aware. The outer stop ends it.
return /^(a*?)\1b/iu.test('aA'.repeat(1e6));
