// Package leash ties processes that a program started to its life.
package leash
