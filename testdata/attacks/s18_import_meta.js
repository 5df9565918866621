// import.meta is not to be had in a function body. Nothing loads: error.
return import.meta.url;
