// A list of half a million nodes is dropped at once: freeing it must not recurse. Value.
for (let r = 0; r < 2; r++) { let l = null; for (let i = 0; i < 300000; i++) l = [l]; l = null; }
return 'freed';
