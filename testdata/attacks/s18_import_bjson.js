// Dynamic import of 'bjson'. Nothing loads: error.
return await import('bjson');
