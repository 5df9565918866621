// split into letters. Memory.
return 'x'.repeat(30e6).split('').length;
