// An object literal of a hundred thousand times the same key.
// Refused or done within the limits.
return Object.keys(eval('({' + 'k:1,'.repeat(1e5) + '})')).length;
