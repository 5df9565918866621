// Dynamic import from a function made of text. Nothing loads: error.
return await Function("return import('os')")();
