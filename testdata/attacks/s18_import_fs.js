// Dynamic import of 'fs'. Nothing loads: error.
return await import('fs');
