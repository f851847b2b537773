//go:build !race

package salscript_test

const raced = false
