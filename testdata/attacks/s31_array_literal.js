// An array literal of two hundred thousand numbers.
// Refused or done within the limits.
return eval('[' + '7,'.repeat(2e5) + ']').length;
