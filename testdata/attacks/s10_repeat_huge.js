// repeat up to the longest string there is. Memory.
return 'x'.repeat(2 ** 30 - 25).length;
