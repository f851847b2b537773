// Package sdk has the files of the SDKs that a node gives to the scripts it runs: what a
// script imports as "ramet" is a file of the SDK of its language, and so works the same in a
// job and in a program of one's own.
package sdk

import _ "embed"

// Python is the module ramet for jobs of type python.
//
//go:embed python/src/ramet/durable.py
var Python string

// JavaScript is the module ramet for jobs of type node.
//
//go:embed typescript/src/durable.js
var JavaScript string
