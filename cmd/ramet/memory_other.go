//go:build !linux

package main

func unmapProgram() {}
