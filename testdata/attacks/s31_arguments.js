// A call with a hundred thousand arguments in the text.
// Refused or done within the limits.
return eval('Math.max(' + '1,'.repeat(1e5) + '2)');
