// A source map on a server: nobody connects to it. Error.
throw new Error('mapped');
//# sourceMappingURL=http://127.0.0.1:9/program.js.map
