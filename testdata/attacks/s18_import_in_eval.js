// Dynamic import from inside eval. Nothing loads: error.
return await eval("import('std')");
