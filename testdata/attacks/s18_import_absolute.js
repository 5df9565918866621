// Dynamic import of '/etc/passwd'. Nothing loads: error.
return await import('/etc/passwd');
