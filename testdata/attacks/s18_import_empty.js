// Dynamic import of the empty name. Nothing loads: error.
return await import('');
