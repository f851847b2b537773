// Package setting has the table of all that can be set of a node and of the command
// line, and reads config files by it.
//
//	Table ──> the words of flags, the names of variables, docs/config.md, `ramet config example`
//	file, environment, flags ──Read──> one tree ──> a Go type, where each value came from, all that is wrong
//
// A setting's name, unit, default, bounds and words stand in its row and nowhere else.
// What the config file becomes is a Go type of package main; a test there holds that
// each of its fields has a row, and each row a field.
//
// The package has no goroutines.
package setting
