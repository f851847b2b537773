// Package parallel has tests that run side by side.
package parallel
