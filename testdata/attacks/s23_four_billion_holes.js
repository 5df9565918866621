// An array of four billion holes.
// Refused with an error, or ended by a limit.
return new Array(2 ** 32 - 1);
