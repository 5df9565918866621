// Package jsonschema reads JSON Schemas of draft-07 and 2020-12 from untrusted servers.
//
// [Compile] makes a [Schema], and ignores the parts of it that it cannot use. A [Checker] checks one value in a bounded
// number of steps, whatever the schema is. Other validators hang or crash on two schemas that refer to each other, or
// on thirty lines of anyOf.
//
// [Declare] writes the TypeScript of a tool from its schemas: the same schemas always give the same bytes. It escapes
// the texts of servers for comments.
package jsonschema
