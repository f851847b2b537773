// Package beside starts nothing, but its tests do.
package beside
