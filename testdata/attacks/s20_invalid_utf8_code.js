// Bytes that are not UTF-8 as code. Syntax error.
return 1 ğŸ
Ã(;
