// The module 'fs', and a file of the machine through it. Nothing is read: error.
const fs = await import('fs');
return (fs.default ?? fs).readFileSync('/etc/passwd', 'utf8').length;
