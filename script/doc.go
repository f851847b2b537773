// Package script is the contract of a script runtime: something that runs one
// script of one type, within limits, and tells how it ended. The families'
// suite is scripttest; drivers are <tech>script packages.
//
// A run gets a private folder, an environment and a [Host] to log through. It
// gives back an [Outcome]: a verdict and a map of strings. Scripts that are
// processes add keys to that map through the file named by $RAMET_RESULT,
// which [ReadResult] understands.
package script
