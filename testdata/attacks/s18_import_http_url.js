// Dynamic import of 'http://127.0.0.1/x.js'. Nothing loads: error.
return await import('http://127.0.0.1/x.js');
