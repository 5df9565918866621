// A directive in the text is a directive: octal is refused. Syntax error.
'use strict';
return 010;
