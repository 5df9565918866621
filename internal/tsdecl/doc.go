// Package tsdecl declares tools in TypeScript from their JSON Schemas: the same schemas always give the same bytes. It
// escapes the texts of servers for comments.
package tsdecl
