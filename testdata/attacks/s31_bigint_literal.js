// BigInt literals of three hundred thousand digits, compiled again and again.
// Refused or done within the limits.
for (;;) eval('9'.repeat(300000) + 'n');
