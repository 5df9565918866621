// Package jsonschema checks values against JSON Schemas of draft-07 and 2020-12 that strangers wrote. A [Schema] is compiled once
// and used as far as it can be used; a [Checker] checks one value and takes a bounded number of steps, whatever the schema
// is: two that refer to each other, or thirty lines of anyOf, keep other validators busy for ever or end the process.
package jsonschema
