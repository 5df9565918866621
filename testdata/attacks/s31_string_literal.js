// A string literal of three megabytes.
// Refused or done within the limits.
return eval('"' + 'x'.repeat(3e6) + '"').length;
