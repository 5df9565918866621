// Dynamic import of 'std'. Nothing loads: error.
return await import('std');
