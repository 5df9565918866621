// Dynamic import of './program.js'. Nothing loads: error.
return await import('./program.js');
