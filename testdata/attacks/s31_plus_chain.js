// A chain of a hundred thousand additions.
// Refused or done within the limits.
return eval('1' + '+1'.repeat(1e5));
