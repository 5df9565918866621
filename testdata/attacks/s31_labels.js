// Thirty thousand labels on one statement, each checked against all others.
// Refused or done within the limits.
let s = '';
for (let i = 0; i < 3e4; i++) s += 'l' + i + ':';
Function(s + ';')();
null.x;
