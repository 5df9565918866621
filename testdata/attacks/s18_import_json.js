// Dynamic import with attributes. Nothing loads: error.
return await import('/etc/hostname', { with: { type: 'json' } });
