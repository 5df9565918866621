// Package settings reads values out of a configuration file, and reports each problem at its place with a hint. It does
// not know what the settings are for.
package settings
