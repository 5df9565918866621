// Package jsonschema checks values against JSON Schemas of draft-07 and 2020-12 from untrusted servers. [Compile]
// makes a [Schema], and ignores the parts of it that cannot be used. A [Checker] checks one value in a bounded number
// of steps, whatever the schema is: two that refer to each other, or thirty lines of anyOf, keep other validators
// busy for ever or end the process.
package jsonschema
