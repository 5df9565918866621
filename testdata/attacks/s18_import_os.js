// Dynamic import of 'os'. Nothing loads: error.
return await import('os');
