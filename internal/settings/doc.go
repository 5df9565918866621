// Package settings reads values out of a configuration file, and reports each problem at its place with a hint. It does
// not know what the settings are for.
//
// It replaces what a value refers to: ${NAME} and its other spellings by a variable of the environment, ${cmd:...} by
// what a command prints, ${file:...} by what a file holds. An [Expander] replaces them in a text, and [Text] is a value
// in which they are replaced later. A [Lookup] knows the values. Reading a file looks nothing up that runs a command or
// opens a file: see [Unread]. Only a Lookup of [Sources] does, and only callers that use the configuration have one.
package settings
