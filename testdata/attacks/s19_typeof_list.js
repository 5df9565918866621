// None of the ambient powers of other runtimes is there. Value.
return [typeof std, typeof os, typeof bjson, typeof Worker, typeof Deno, typeof Bun, typeof XMLHttpRequest, typeof WebSocket, typeof importScripts, typeof gc, typeof print, typeof load, typeof read, typeof __loadScript, typeof scriptArgs, typeof $262].filter(t => t !== 'undefined').length;
