// A megabyte of statements inside eval.
// Refused or done within the limits.
return eval('1;'.repeat(5e5));
