// A source map that is a file of the machine: nobody opens it. Error.
throw new Error('mapped');
//# sourceMappingURL=file:///etc/passwd
