// 255 captures reset in every round of an exponential loop. Ends at the time limit.
return new RegExp('^(?:' + '(a)?'.repeat(250) + '|a)+$').test('a'.repeat(400) + '!');
