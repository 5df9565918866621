// A pattern of forty thousand elements.
// Refused or done within the limits.
return Function('let a; [' + ','.repeat(39999) + 'a] = new Array(39999).fill(0).concat(5); return a')();
