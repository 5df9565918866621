// Dynamic import of 'file:///etc/passwd'. Nothing loads: error.
return await import('file:///etc/passwd');
