// Package settings reads what a configuration file says into Go values, and tells each mistake at its place, with the
// way out. It does not know what the settings are for.
package settings
