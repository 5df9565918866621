// A chain of string additions, folded or not.
// Refused or done within the limits.
return eval('"a"' + '+"b"'.repeat(5e4)).length;
