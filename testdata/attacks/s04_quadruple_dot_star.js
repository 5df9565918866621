// A polynomial of degree six on 4,000 letters. Ends at the time limit.
return /.*.*.*.*.*=x/s.test('a'.repeat(4000));
