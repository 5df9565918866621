// A thenable result is awaited, as the language says. Value.
return { then(r) { r(42); } };
