// Dynamic import of names with NUL, newline and half a surrogate pair. Nothing loads: error.
const r = await Promise.allSettled(['\0', 'a\nb', '\ud800', '../'.repeat(1000)].map(n => import(n)));
if (r.every(x => x.status === 'rejected')) throw new Error('none');
return 'loaded';
