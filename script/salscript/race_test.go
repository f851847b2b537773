//go:build race

package salscript_test

// raced: the race detector takes more address space than a job has, so that no
// child could start.
const raced = true
