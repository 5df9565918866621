// A result that is small until it is escaped. Refused.
return '\u0001'.repeat(9e5);
