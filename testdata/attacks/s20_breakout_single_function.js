// Closes the wrapper and leaves exactly one function of the right form behind. Refused.
}, codemode.echo("out"), async function () {
