//go:build !linux

package budget

// openFiles takes a few where the system is not asked.
func openFiles() int64 { return someHost.files }
