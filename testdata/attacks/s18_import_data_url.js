// Dynamic import of a data URL. Nothing loads: error.
return await import('data:text/javascript,export default 1');
