// Package tsdecl declares tools in TypeScript from their JSON Schemas: the same schemas always give the same bytes.
// What servers say is made safe to stand in a comment.
package tsdecl
