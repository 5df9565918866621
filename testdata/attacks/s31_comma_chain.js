// A chain of half a million comma operators.
// Refused or done within the limits.
return eval('1' + ',1'.repeat(5e5));
