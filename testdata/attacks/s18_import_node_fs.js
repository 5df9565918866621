// Dynamic import of 'node:fs'. Nothing loads: error.
return await import('node:fs');
