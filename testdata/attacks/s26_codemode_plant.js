// A replaced codemode object: planted here. The next run must not see it.
try { codemode.echo = () => 'planted'; } catch (e) { }
try { codemode.planted = 1; } catch (e) { }
try { Object.defineProperty(codemode, 'secret', { value: () => 'planted' }); } catch (e) { }
try { globalThis.codemode = { echo: () => 'planted' }; } catch (e) { }
return 'tried';
