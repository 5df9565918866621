// Writing, defining and deleting tools changes nobody's policy. Value.
try { codemode.secret = codemode.echo; } catch (e) { }
try { delete codemode.secret; } catch (e) { }
try { Object.setPrototypeOf(codemode, { secret: x => x }); } catch (e) { }
try { Object.defineProperty(codemode, 'planted', { value: 1 }); } catch (e) { }
return await codemode.echo('still');
