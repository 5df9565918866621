// The locale of the machine is not told. Value.
return [typeof Intl === 'undefined' || (() => { try { return !Intl.DateTimeFormat().resolvedOptions().locale; } catch (e) { return true; } })(), (1234.5).toLocaleString()].join();
