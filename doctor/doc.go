// Package doctor says whether all is well, and what to do where it is not: of what a node
// answers about itself, its board, its runners and the jobs of a context it makes findings.
// It asks nobody: `ramet doctor` and the console hand in what they were answered, with the
// rights that they have.
package doctor
