// A number literal of a million digits.
// Refused or done within the limits.
return eval('0.' + '1'.repeat(1e6)) > 0.1;
