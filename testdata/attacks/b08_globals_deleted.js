// Every global that can be deleted is deleted. Denied stays denied and calls go on. Value.
try {
  for (const k of Reflect.ownKeys(globalThis)) if (k !== 'codemode') { try { delete globalThis[k]; } catch (e) { } }
} catch (e) { } // an engine may freeze its built-in objects
let outcome = 'called';
try { await codemode.secret({ x: 1 }); } catch (e) { outcome = e && e.constructor ? 'refused' : 'odd'; }
return [outcome, await codemode.echo('ok')];
