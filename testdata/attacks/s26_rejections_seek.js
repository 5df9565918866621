// Rejections left unhandled: nothing of what the run before planted is here. Value.
await codemode.slow({ ms: 40 });
return 'clean';
