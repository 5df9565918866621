// The name is an object whose toString calls back. Nothing loads: error.
return await import({ toString() { return 'std'; } });
