// A template of fifty thousand parts.
// Refused or done within the limits.
return eval('`' + '${1}'.repeat(5e4) + '`').length;
