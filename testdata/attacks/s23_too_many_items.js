// A result of a million small items. Refused.
return new Array(1e6).fill(0);
